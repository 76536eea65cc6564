// Owns: choosing as whom to look at an actor: principal, scopes, claims, revision, mode of lists. Does not own: what that viewer sees.
import { useId } from "preact/hooks";
import type { PageOf, SeenCaller } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { get } from "../api.ts";
import { useResource } from "../resource.ts";
import { callerOf, claimsOf, listModeOf, recentViewers, REVISIONS, type ViewerState } from "../viewer.ts";
import { TypedInput } from "./typed.tsx";
import "./viewer-picker.css";

const MOST_NAMES = 8;
/** What each mode of lists shows. */
const LISTED = { dynamic: "dynamic: what is on", static: "static: also what is off" } as const;

export function ViewerPicker({
  viewer,
  principals,
  roles,
  withClient = true,
}: {
  readonly viewer: ViewerState;
  /** Names to suggest. Undefined while they are loaded. */
  readonly principals: readonly string[] | undefined;
  /** Those that the viewer has, where they are known. */
  readonly roles?: readonly string[] | undefined;
  /** Also which client it has: revision, and mode of lists. */
  readonly withClient?: boolean;
}) {
  const id = useId();
  const { principal, scopes, claims, revision, lists, set } = viewer;
  const recent = recentViewers.value;
  const seen = useResource<PageOf<SeenCaller> | undefined>("callers", async (signal) =>
    can("traffic") ? await get<PageOf<SeenCaller>>("/callers", undefined, signal) : undefined,
  );
  const callers = (seen.data.value?.items ?? []).map(callerOf);
  const names = new Set(
    [...recent, ...callers]
      .map((one) => one.principal)
      .concat(principals ?? [])
      .filter((name) => name !== ""),
  );
  // In one order, and only when all are known: none moves under the pointer.
  const isKnown = principals !== undefined && (seen.data.value !== undefined || seen.error.value !== undefined || !can("traffic"));
  const chips = isKnown ? [...names].slice(0, MOST_NAMES).toSorted((one, other) => one.localeCompare(other)) : [];
  const caller = callers.find((one) => one.principal === principal);
  const isAsSeen = caller === undefined || (caller.scopes === scopes && caller.claims === claims);
  const wrongClaims = claimsOf(claims) === undefined;
  const choose = (name: string): void => {
    set("principal", name);
    // As the server has seen it, rather than as it was once typed here.
    const known = [...callers, ...recent].find((one) => one.principal === name);
    if (known === undefined) return;
    set("scopes", known.scopes);
    set("claims", known.claims);
  };
  return (
    <section class={`viewer-picker ${withClient ? "" : "caller"}`} aria-label={withClient ? "As whom to look" : "As whom to connect"}>
      <label htmlFor={`${id}-principal`}>
        <span>As principal</span>
        <TypedInput
          id={`${id}-principal`}
          value={principal}
          onCommit={choose}
          list={`${id}-names`}
          placeholder="anonymous"
          autocomplete="off"
          spellcheck={false}
        />
      </label>
      <datalist id={`${id}-names`}>
        {[...names].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </datalist>
      <label htmlFor={`${id}-scopes`}>
        <span>Scopes</span>
        <TypedInput
          id={`${id}-scopes`}
          value={scopes}
          onCommit={(next) => set("scopes", next)}
          placeholder="none"
          autocomplete="off"
          spellcheck={false}
        />
      </label>
      <label class="claims" htmlFor={`${id}-claims`}>
        <span>Claims of its token</span>
        <TypedInput
          id={`${id}-claims`}
          value={claims}
          onCommit={(next) => set("claims", next)}
          placeholder='{"roles":["…"]}'
          autocomplete="off"
          spellcheck={false}
          class="mono"
          aria-invalid={wrongClaims}
          {...(wrongClaims ? { "aria-describedby": `${id}-wrong` } : {})}
        />
        {wrongClaims ? (
          <small id={`${id}-wrong`} class="mistake">
            This is no JSON object.
          </small>
        ) : null}
      </label>
      {withClient ? (
        <>
          <label>
            <span>Protocol revision</span>
            <select value={revision} onChange={({ currentTarget }) => set("revision", currentTarget.value)}>
              {REVISIONS.map((one) => (
                <option key={one.revision} value={one.revision}>
                  {one.revision}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span>Lists</span>
            <select value={lists} onChange={({ currentTarget }) => set("lists", currentTarget.value)}>
              <option value="">{LISTED[listModeOf({ ...viewer, lists: "" })]} (default)</option>
              <option value="dynamic">{LISTED.dynamic}</option>
              <option value="static">{LISTED.static}</option>
            </select>
          </label>
        </>
      ) : null}
      {principal === "" ? (
        <p class="dim viewer-known">Without a principal: as a client that is not signed in.</p>
      ) : (
        <p class="dim viewer-known">
          {caller === undefined
            ? `The server has not seen ${principal} call: it is judged by the scopes and claims that are given here alone.`
            : isAsSeen
              ? `With the scopes and claims with which ${principal} called last.`
              : `${principal} called last with other scopes or claims: choose the name below to use those.`}
          {roles === undefined ? "" : roles.length === 0 ? " It has no role here." : ` Its roles here: ${roles.join(", ")}.`}
        </p>
      )}
      <div class="names" role="group" aria-label="Principals seen here">
        {chips.map((name) => (
          <button key={name} type="button" class="small" aria-pressed={name === principal && isAsSeen} onClick={() => choose(name)}>
            {name}
          </button>
        ))}
        {isKnown ? (
          <button type="button" class="small quiet" disabled={principal === ""} onClick={() => choose("")}>
            anonymous
          </button>
        ) : null}
      </div>
    </section>
  );
}
