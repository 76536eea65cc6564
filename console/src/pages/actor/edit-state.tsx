// Owns: editing a state as JSON: what would change, the reason, the confirmation. Does not own: the event that it becomes (the server).
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Json, StateMisfit } from "../../../../src/core/contract/index.ts";
import type { ActorDetail, Written } from "../../../../src/bridges/console/shapes.ts";
import { actorPath, post } from "../../api.ts";
import { differences } from "../../json-paths.ts";
import { useAction } from "../../operation.ts";
import { readable } from "../../ui/actor-link.tsx";
import { confirm } from "../../ui/confirm.tsx";
import { Diff, readablePath } from "../../ui/diff.tsx";
import { JsonEditor } from "../../ui/json-editor.tsx";
import { ErrorNote } from "../../ui/states.tsx";
import { toast } from "../../ui/toasts.tsx";

/** The server's own limit. */
const MAX_REASON = 1_000;

export function EditState({
  actor,
  close,
  reload,
}: {
  readonly actor: ActorDetail;
  readonly close: () => void;
  readonly reload: () => void;
}) {
  // What the edit began with: the actor may change meanwhile.
  const base = useSignal({ state: actor.state, head: actor.head, seq: actor.seq });
  const text = useSignal(JSON.stringify(actor.state, undefined, 2));
  const reason = useSignal("");
  const force = useSignal(false);
  const { busy, error, act, clear } = useAction();
  const misfits = error?.misfits ?? NO_MISFITS;
  const marks = useMemo(() => misfits.map(({ path }) => path), [misfits]);
  const edited = useMemo(() => parse(text.value), [text.value]);
  const changes = useMemo(() => (edited === undefined ? undefined : differences(base.value.state, edited.value)), [edited, base.value]);
  const outdated = base.value.head !== actor.head;
  const isReady = changes !== undefined && changes.length > 0 && reason.value.trim() !== "" && !busy && !outdated;

  const startOver = (): void => {
    base.value = { state: actor.state, head: actor.head, seq: actor.seq };
    text.value = JSON.stringify(actor.state, undefined, 2);
    clear();
  };
  const save = async (): Promise<void> => {
    if (!isReady || edited === undefined || changes === undefined) return;
    const count = changes.length === 1 ? "1 path" : `${changes.length.toLocaleString()} paths`;
    const sure = await confirm({
      title: `Edit ${readable(actor.id)}?`,
      text: `${count} of its state would change, without its own code. The edit is an event of its history, with your reason.`,
      action: "Write the edit",
      danger: true,
    });
    if (sure === undefined) return;
    await act(async () => {
      const { checked } = await post<Written>(`${actorPath(actor.id)}/edit`, {
        state: edited.value,
        reason: reason.value.trim(),
        head: base.value.head,
        ...(force.value && { force: true }),
      });
      toast(`${readable(actor.id)} was edited.${checked === true ? "" : " It was not checked against the state's schema."}`);
      close();
    });
    reload();
  };

  return (
    <form
      class="edit-state"
      aria-label="Edit the state"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {outdated ? (
        <div class="why row" role="alert">
          <span class="grow">
            The actor is at event {actor.seq.toLocaleString()} now, and this edit began at event {base.value.seq.toLocaleString()}.
          </span>
          <button type="button" onClick={startOver}>
            Start over from its state now
          </button>
        </div>
      ) : null}
      <JsonEditor label="State" value={text.value} onChange={(next) => (text.value = next)} lines={16} marks={marks} />
      <section aria-label="What changes">
        <h2>What changes</h2>
        {changes === undefined ? <p class="dim">The text is no JSON yet.</p> : <Diff differences={changes} none="Nothing yet." />}
      </section>
      <div class="form-field">
        <label htmlFor="edit-reason">Reason, for its history</label>
        <input
          id="edit-reason"
          value={reason.value}
          maxLength={MAX_REASON}
          autocomplete="off"
          onInput={({ currentTarget }) => (reason.value = currentTarget.value)}
        />
      </div>
      {misfits.length > 0 ? <Misfits misfits={misfits} force={force.value} setForce={(on) => (force.value = on)} /> : null}
      {error === undefined || misfits.length > 0 ? null : <ErrorNote error={error} />}
      <div class="row">
        <button type="submit" class="primary" disabled={!isReady}>
          Write the edit …
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
        {changes !== undefined && changes.length > 0 && reason.value.trim() === "" ? <span class="dim">It needs a reason.</span> : null}
      </div>
    </form>
  );
}

const NO_MISFITS: readonly StateMisfit[] = [];

function Misfits({
  misfits,
  force,
  setForce,
}: {
  readonly misfits: readonly StateMisfit[];
  readonly force: boolean;
  readonly setForce: (on: boolean) => void;
}) {
  return (
    <div class="why misfits" role="alert">
      <strong>It does not fit the state's schema, so it was not written.</strong>
      <ul>
        {misfits.map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            <code>{path === "" ? "the state" : readablePath(path)}</code> {message}
          </li>
        ))}
      </ul>
      <label class="row">
        <input type="checkbox" checked={force} onChange={({ currentTarget }) => setForce(currentTarget.checked)} /> Write it all the same:
        the actor's code may fail with it
      </label>
    </div>
  );
}

/** Undefined: the text is no JSON. */
function parse(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
