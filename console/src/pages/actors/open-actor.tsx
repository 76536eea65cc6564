// Owns: opening an actor by its kind and key, whether it has begun or not. Does not own: the list of those that have.
import { useSignal } from "@preact/signals";
import { Link, useLocation } from "wouter-preact";
import { about } from "../../about.ts";

/** The key of the one actor that clients of a shared kind call. */
const SHARED = "main";

export function OpenActor({ kind: preferred }: { readonly kind?: string | undefined }) {
  const [, go] = useLocation();
  const kinds = (about.value?.kinds ?? []).filter(({ served }) => served);
  const chosen = useSignal(preferred);
  const kind = kinds.find((one) => one.kind === chosen.value) ?? kinds[0];
  const key = useSignal("");
  if (kind === undefined) return null;
  const isShared = kind.per === "shared";
  return (
    <form
      class="row open-actor"
      aria-label="Open an actor"
      onSubmit={(event) => {
        event.preventDefault();
        const wanted = key.value.trim() === "" && isShared ? SHARED : key.value.trim();
        if (wanted !== "") go(`/actors/${kind.kind}/${encodeURIComponent(wanted)}`);
      }}
    >
      <label class="row">
        <span class="dim">Kind</span>
        <select value={kind.kind} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
          {kinds.map((one) => (
            <option key={one.kind}>{one.kind}</option>
          ))}
        </select>
      </label>
      <label class="row">
        <span class="dim">Key</span>
        <input
          value={key.value}
          required={!isShared}
          placeholder={isShared ? SHARED : kind.per === "user" ? "a principal" : ""}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => (key.value = currentTarget.value)}
        />
      </label>
      <button type="submit">Open</button>
    </form>
  );
}

/** The actors that every client reaches, and that begin with the first call. */
export function SharedActors() {
  const shared = (about.value?.kinds ?? []).filter(({ served, per }) => served && per === "shared");
  if (shared.length === 0) return null;
  return (
    <ul class="shared-actors">
      {shared.map(({ kind, description }) => (
        <li key={kind}>
          <Link href={`/actors/${kind}/${SHARED}`} class="id">
            {kind}/{SHARED}
          </Link>
          {description === undefined ? null : <span class="dim"> {description}</span>}
        </li>
      ))}
    </ul>
  );
}
