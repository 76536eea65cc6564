// Owns: comparing a receipt that a client has with the chain, here and by the server. Does not own: receipts (src/core).
import { useState } from "preact/hooks";
import type { ActorDetail, EventTexts, PageOf, ReceiptCheck } from "../../../../../src/bridges/console/shapes.ts";
import { actorPath, get, post } from "../../../api.ts";
import { digestHere } from "../../../chain-check.ts";
import { useAction } from "../../../operation.ts";
import { ActorLink, readable } from "../../../ui/actor-link.tsx";
import { ErrorNote } from "../../../ui/states.tsx";

interface Receipt {
  readonly actor: string;
  readonly seq: number;
  readonly head: string;
}

const MOST_LEVELS = 8;

/** The receipt in a JSON text, which may be a whole result of a call. */
function receiptIn(text: string): Receipt | undefined {
  try {
    return find(JSON.parse(text), 0);
  } catch {
    return undefined;
  }
}

function find(value: unknown, level: number): Receipt | undefined {
  if (typeof value !== "object" || value === null || level > MOST_LEVELS) return undefined;
  if ("actor" in value && "seq" in value && "head" in value) {
    const { actor, seq, head } = value;
    if (typeof actor === "string" && typeof seq === "number" && typeof head === "string") return { actor, seq, head };
  }
  for (const member of Object.values(value)) {
    const found = find(member, level + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Outcome extends ReceiptCheck {
  /** What this page found by itself. Undefined: the receipt is of another actor. */
  readonly here: boolean | undefined;
  readonly receipt: Receipt;
}

export function ReceiptForm({ actor: { id } }: { readonly actor: ActorDetail }) {
  const [text, setText] = useState("");
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const { error, act } = useAction();
  const receipt = receiptIn(text);
  const check = (): void => {
    if (receipt === undefined) return;
    void act(async () => {
      const answer = await post<ReceiptCheck>("/receipts/check", receipt);
      setOutcome({ ...answer, receipt, here: receipt.actor === id ? await isInChain(receipt) : undefined });
    });
  };
  return (
    <form
      class="receipt"
      onSubmit={(event) => {
        event.preventDefault();
        check();
      }}
    >
      <label class="field">
        <span>Receipt: {`{"actor", "seq", "head"}`} as JSON, or the whole result of a call</span>
        <textarea rows={3} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="row">
        <button type="submit" class="primary" disabled={receipt === undefined}>
          Check
        </button>
        {text !== "" && receipt === undefined ? <span class="dim">There is no receipt in this text.</span> : null}
      </div>
      {error === undefined ? null : <ErrorNote error={error} />}
      <div role="status">{outcome === undefined ? null : <Verdict outcome={outcome} />}</div>
    </form>
  );
}

const Verdict = ({ outcome: { ok, what, here, receipt } }: { readonly outcome: Outcome }) => (
  <p>
    <span class={`badge ${ok && here !== false ? "good" : "bad"}`}>
      {ok && here !== false ? "✓ as the receipt says" : "not as the receipt says"}
    </span>{" "}
    {what}{" "}
    {here === undefined ? (
      <>
        The receipt is of <ActorLink id={receipt.actor} tab="history" />.
      </>
    ) : here ? (
      `The hash computed in this page is that of the receipt: event ${receipt.seq} of ${readable(receipt.actor)}.`
    ) : (
      "The hash computed in this page is another one."
    )}
  </p>
);

async function isInChain({ actor, seq, head }: Receipt): Promise<boolean> {
  if (!Number.isSafeInteger(seq) || seq < 1) return false;
  const { items } = await get<PageOf<EventTexts>>(`${actorPath(actor)}/texts`, { after: seq - 1, limit: 1 });
  const [event] = items;
  return event !== undefined && (await digestHere(event.header)) === head;
}
