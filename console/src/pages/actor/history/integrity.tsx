// Owns: whether a history is what was written: hashes computed in the page, the server's own verification, receipts. Does not own: the
// computation (chain-check.ts).
import { useEffect, useRef, useState } from "preact/hooks";
import type { ActorDetail, EventTexts, PageOf, ProgressShape, Verified } from "../../../../../src/bridges/console/shapes.ts";
import { actorPath, type ApiError, asApiError, get } from "../../../api.ts";
import { ChainCheck, type Digest, digestHere } from "../../../chain-check.ts";
import { useOperation } from "../../../operation.ts";
import { Progress } from "../../../ui/progress.tsx";
import { ErrorNote } from "../../../ui/states.tsx";
import { ReceiptForm } from "./receipt.tsx";
import { counted } from "../../../ui/time.tsx";

/** Longer histories are verified on request. */
const AT_ONCE = 5_000;
const PAGE = 500;
/** While an actor is busy, not after each of its events. */
const AGAIN_MS = 1_000;

type Phase =
  | { readonly is: "idle" }
  | { readonly is: "running"; readonly progress: ProgressShape }
  | { readonly is: "ended" }
  | { readonly is: "failed"; readonly error: ApiError };

/** Verifies by itself while that is quick, and goes on with each new event. */
function useChainCheck({ id, seq }: ActorDetail, digest: Digest) {
  const [phase, setPhase] = useState<Phase>({ is: "idle" });
  const check = useRef(new ChainCheck(id, digest));
  const running = useRef<AbortController | undefined>(undefined);
  const wanted = useRef(seq <= AT_ONCE);
  const verify = async (): Promise<void> => {
    if (running.current !== undefined) return;
    const controller = new AbortController();
    running.current = controller;
    wanted.current = true;
    const start = check.current.seq;
    try {
      for (;;) {
        if (seq - check.current.seq > PAGE)
          setPhase({ is: "running", progress: { done: check.current.seq, total: Math.max(seq, check.current.seq) } });
        const query = { after: check.current.seq, limit: PAGE };
        const { items, next } = await get<PageOf<EventTexts>>(`${actorPath(id)}/texts`, query, controller.signal);
        if (controller.signal.aborted) return;
        if (!(await check.current.add(items)) || next === undefined) break;
      }
      setPhase({ is: "ended" });
    } catch (thrown) {
      setPhase(controller.signal.aborted ? (start === 0 ? { is: "idle" } : { is: "ended" }) : { is: "failed", error: asApiError(thrown) });
    } finally {
      running.current = undefined;
    }
  };
  const latest = useRef(verify);
  latest.current = verify;
  useEffect(() => {
    if (!wanted.current || check.current.flaw !== undefined) return undefined;
    const waiting = setTimeout(() => void latest.current(), check.current.seq === 0 ? 0 : AGAIN_MS);
    return () => clearTimeout(waiting);
  }, [seq]);
  useEffect(() => () => running.current?.abort(), []);
  const cancel = (): void => {
    wanted.current = false;
    running.current?.abort();
  };
  return { phase, check: check.current, verify, cancel };
}

export function Integrity({ actor, open }: { readonly actor: ActorDetail; readonly open: (at: number) => void }) {
  const { phase, check, verify, cancel } = useChainCheck(actor, digestHere);
  const [receipt, setReceipt] = useState(false);
  const server = useOperation<Verified>(`${actorPath(actor.id)}/verify`);
  const verifyOnServer = (): void => void server.start({}, actor.seq);
  const { flaw } = check;
  return (
    <section class="integrity" aria-label="Verification">
      <div class="row">
        {phase.is === "running" ? (
          <Progress what="Verifying in this page" progress={phase.progress} cancel={cancel} />
        ) : (
          <span role="status" class="verdict">
            {flaw !== undefined ? (
              <>
                <span class="badge bad">not verified</span> <strong>{flaw.message}</strong>
                <button type="button" onClick={() => open(Math.max(1, flaw.seq - 1))}>
                  Last valid event
                </button>
              </>
            ) : phase.is === "ended" ? (
              <>
                <span class="badge good" title={check.head ?? ""}>
                  ✓ verified
                </span>{" "}
                <span>
                  {counted(check.seq, "event")}, hashes computed in this page
                  {check.erased === 0 ? "" : `; ${counted(check.erased, "body was", "bodies were")} erased`}
                </span>
              </>
            ) : (
              <span class="dim">Hashes not verified yet.</span>
            )}
          </span>
        )}
        <span class="grow" />
        {phase.is === "idle" ? (
          <button type="button" onClick={() => void verify()}>
            Verify in this page
          </button>
        ) : null}
        <button type="button" class="quiet" onClick={verifyOnServer} disabled={server.progress !== undefined}>
          Verify on the server
        </button>
        <button type="button" class="quiet" aria-expanded={receipt} onClick={() => setReceipt(!receipt)}>
          Check a receipt
        </button>
      </div>
      {phase.is === "failed" ? <ErrorNote error={phase.error} retry={() => void verify()} /> : null}
      {server.progress === undefined ? null : <Progress what="Verifying on the server" progress={server.progress} cancel={server.cancel} />}
      {server.error === undefined ? null : <ErrorNote error={server.error} retry={verifyOnServer} />}
      <div role="status">{server.result === undefined ? null : <ServerVerdict result={server.result} open={open} />}</div>
      {receipt ? <ReceiptForm actor={actor} /> : null}
    </section>
  );
}

function ServerVerdict({ result: { ok, events, flaws }, open }: { readonly result: Verified; readonly open: (at: number) => void }) {
  if (ok)
    return (
      <p>
        <span class="badge good">✓ verified</span> by the server: {counted(events, "event")}.
      </p>
    );
  return (
    <ul class="flaws">
      {flaws.map(({ seq, code, message }) => (
        <li key={`${seq} ${code}`}>
          <span class="badge bad">{code}</span> {message}{" "}
          <button type="button" class="quiet" onClick={() => open(seq)}>
            Event {seq.toLocaleString()}
          </button>
        </li>
      ))}
    </ul>
  );
}
