// Owns: the dead letters: why each was not delivered, what led to it, and what becomes of it. Does not own: one letter (lists/letter.tsx).
import type { BatchOutcome, LetterPage, LetterRow } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { get } from "../api.ts";
import { useOperation } from "../operation.ts";
import { useResource } from "../resource.ts";
import { ActorLink } from "../ui/actor-link.tsx";
import { confirm } from "../ui/confirm.tsx";
import { None } from "../ui/none.tsx";
import { OpenButton, useOpenRow } from "../ui/open-row.tsx";
import { RecordedRequest, senderOf } from "../ui/origin.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Pager, usePages } from "../ui/pager.tsx";
import { Split } from "../ui/panel.tsx";
import { Progress } from "../ui/progress.tsx";
import { useSelection } from "../ui/selection.ts";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { toast } from "../ui/toasts.tsx";
import { useChanged } from "./lists/changed.ts";
import { Letter } from "./lists/letter.tsx";
import { RefreshButton } from "./lists/polling.tsx";

const SIZE = 100;
const WHAT = "messages that could not be delivered";
type Fate = "replay" | "drop";

export function Letters() {
  return (
    <RequireAbility ability="letters" title="Dead letters" what={WHAT}>
      <LetterList />
    </RequireAbility>
  );
}

function LetterList() {
  const pages = usePages();
  const open = useOpenRow();
  const selection = useSelection();
  const { progress, start } = useOperation<BatchOutcome>("/batch", { background: true });
  const list = useResource(`letters ${pages.after}`, (signal) => get<LetterPage>("/letters", { after: pages.after, limit: SIZE }, signal));
  const changed = useChanged((figures) => figures.letters, list.data.value);
  const { items: rows = [], damaged = 0 } = list.data.value ?? {};

  const decide = async (fate: Fate, ids: readonly string[]): Promise<void> => {
    const what = ids.length === 1 ? "1 letter" : `${ids.length.toLocaleString()} letters`;
    const yes = await confirm(
      fate === "drop"
        ? {
            title: `Drop ${what}?`,
            text: "The messages are deleted and never delivered. This cannot be undone.",
            action: `Drop ${what}`,
            danger: true,
          }
        : {
            title: `Replay ${what}?`,
            text: "Each message is sent to its actor again. One that fails three times comes back here.",
            action: `Replay ${what}`,
          },
    );
    if (yes === undefined) return;
    const { result, error } = await start({ operation: `${fate}-letter`, ids }, ids.length);
    if (error !== undefined) toast(error.message, "failed");
    const { done = 0, failed: [first] = [] } = result ?? {};
    if (first !== undefined) toast(`${result?.failed.length} of ${ids.length} failed: ${first.message}`, "failed");
    if (done > 0) toast(`${fate === "drop" ? "Dropped" : "Replayed"} ${done === 1 ? "1 letter" : `${done.toLocaleString()} letters`}.`);
    selection.clear();
    if (ids.includes(open.key)) open.close();
    list.reload();
  };

  const chosen = rows.filter(({ id }) => selection.has(id)).map(({ id }) => id);
  const letter = rows.find(({ id }) => id === open.key);
  const operable = can("run");
  return (
    <>
      <PageHead title="Dead letters" what={WHAT}>
        <RefreshButton reload={list.reload} changed={changed} />
      </PageHead>
      {damaged === 0 ? null : (
        <p class="dim">
          {damaged === 1 ? "1 letter" : `${damaged.toLocaleString()} letters`} cannot be read. <code>troupe letters</code> says why.
        </p>
      )}
      <Loaded resource={list} what="dead letters">
        {({ next }) =>
          rows.length === 0 && pages.after === "" ? (
            <Empty title="No dead letters">A message becomes one after it has failed three times, or when its actor has stopped.</Empty>
          ) : (
            <Split
              panel={
                letter === undefined ? undefined : (
                  <Letter
                    letter={letter}
                    onClose={open.close}
                    decide={operable && progress === undefined ? (fate) => void decide(fate, [letter.id]) : undefined}
                  />
                )
              }
            >
              <div>
                <Table
                  caption="Dead letters"
                  rows={rows}
                  keyOf={({ id }) => id}
                  nameOf={({ to, action }) => `${action} to ${to}`}
                  {...(operable ? { selection } : {})}
                  open={open.key}
                  onOpen={({ id }) => open.toggle(id)}
                  columns={[
                    { head: "Since", cell: ({ at }) => <Time at={at} /> },
                    { head: "To", wide: true, cell: ({ to }) => <ActorLink id={to} /> },
                    {
                      head: "Message",
                      cell: ({ id, action }) => (
                        <>
                          <OpenButton of={id} open={open}>
                            {action}
                          </OpenButton>
                        </>
                      ),
                    },
                    { head: "Why", fill: true, wide: true, cell: ({ why }) => <span title={why}>{why}</span> },
                    ...(letter === undefined ? SENDER : []),
                    ...(letter === undefined && rows.some(({ replays }) => replays > 0) ? REPLAYED : []),
                  ]}
                />
                <Pager pages={pages} count={rows.length} next={next} size={SIZE} first={Number(pages.after) + 1} />
                {chosen.length === 0 && progress === undefined ? null : (
                  <div class="batch row" role="group" aria-label="Selected letters">
                    {progress === undefined ? (
                      <>
                        <span>{chosen.length} selected</span>
                        <span class="grow" />
                        <button type="button" onClick={() => void decide("replay", chosen)}>
                          Replay
                        </button>
                        <button type="button" class="danger" onClick={() => void decide("drop", chosen)}>
                          Drop
                        </button>
                        <button type="button" class="quiet" onClick={selection.clear}>
                          Clear
                        </button>
                      </>
                    ) : (
                      <Progress what="Letters" progress={progress} />
                    )}
                  </div>
                )}
              </div>
            </Split>
          )
        }
      </Loaded>
    </>
  );
}

// Left out next to the details, which say the same.
const SENDER: readonly Column<LetterRow>[] = [
  {
    head: "Caused by",
    wide: true,
    cell: ({ root }) =>
      root?.request === undefined ? (
        root === undefined ? (
          <None />
        ) : (
          <span class="one-line">
            {root.type} on <ActorLink id={root.actor} />
          </span>
        )
      ) : (
        <span class="one-line">
          <RecordedRequest n={root.request.n}>
            <span class="mono">{root.request.name ?? root.request.method}</span>
          </RecordedRequest>{" "}
          <br />
          <small class="dim">by {senderOf(root.request)}</small>
        </span>
      ),
  },
  {
    head: "Sent by",
    wide: true,
    cell: ({ from, principal }) => (from === undefined ? (principal ?? <span class="dim">a client</span>) : <ActorLink id={from} />),
  },
];

const REPLAYED: readonly Column<LetterRow>[] = [
  {
    head: "Replayed",
    align: "right",
    wide: true,
    cell: ({ replays }) => (replays === 0 ? <span class="dim">0</span> : replays),
  },
];
