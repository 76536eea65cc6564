// Owns: what an actor is doing now, and the messages that wait for it. Does not own: handling them.
import type { MailboxRow, MailboxShape } from "../../../../src/bridges/console/shapes.ts";
import { actorPath, get } from "../../api.ts";
import { useResource } from "../../resource.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { None } from "../../ui/none.tsx";
import { ErrorNote } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Until } from "../../ui/time.tsx";
import { usePolling } from "../lists/polling.tsx";

export function Mailbox({ id }: { readonly id: string }) {
  const mailbox = useResource(`mailbox ${id}`, (signal) => get<MailboxShape>(`${actorPath(id)}/mailbox`, undefined, signal));
  usePolling(mailbox.reload, 2_000);
  const found = mailbox.data.value;
  if (mailbox.error.value !== undefined) return <ErrorNote error={mailbox.error.value} retry={mailbox.reload} />;
  if (found === undefined) return null;
  const { phase, queued, waiting, working } = found;
  const rows = [
    ...(working === undefined ? [] : [{ ...working, isWorking: true }]),
    ...waiting.map((one) => ({ ...one, isWorking: false })),
  ];
  if (rows.length === 0 && queued === 0) return null;
  return (
    <section class="whole">
      <h2>
        Messages <span class="dim">{PHASES[phase]}</span>
      </h2>
      <Table
        caption="Messages"
        rows={rows}
        keyOf={({ id: message }) => message}
        columns={[
          { head: "Message", cell: ({ action }) => <code>{action}</code> },
          {
            head: "State",
            cell: ({ isWorking }) => <span class={isWorking ? "badge warning" : "badge"}>{isWorking ? "works" : "waits"}</span>,
          },
          { head: "Since", cell: ({ at }) => <Until at={at} /> },
          { head: "From", cell: sender },
          {
            head: "Arguments",
            fill: true,
            wide: true,
            cell: ({ args, action }) => (args === null ? null : <JsonTree value={args} label={`Arguments of ${action}`} />),
          },
        ]}
      />
      {queued > waiting.length ? <p class="dim">{(queued - waiting.length).toLocaleString()} more wait.</p> : null}
    </section>
  );
}

const sender = ({ from, principal }: MailboxRow) => (from === undefined ? (principal ?? <None />) : <ActorLink id={from} />);

const PHASES: Readonly<Record<MailboxShape["phase"], string>> = {
  ready: "handled one after the other",
  loading: "wait until the actor is loaded",
  working: "wait for work that runs",
  "awaiting-commits": "wait until earlier turns are on disk",
  starting: "wait until the actor may start",
  "stopping-children": "wait until its children have stopped",
};
