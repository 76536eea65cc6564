import type { Answer, Exchange, Json } from "../../../core/contract/index.ts";
import type { Core } from "../core.ts";
import { Fault, faultOf, type Sayings, wireError } from "../errors.ts";
import { classify, errorText, type Incoming } from "../json-rpc.ts";
import { batchesIn } from "../profile.ts";
import { wholeText } from "../reply.ts";
import { heard } from "./heard.ts";
import { answeredText, performLegacy } from "./perform.ts";
import { endStream, PostAside } from "./post-aside.ts";
import type { Session } from "./session.ts";

/** Several messages in one POST; the replies are one list, or on one stream. */
export async function answerBatch(core: Core, session: Session, exchange: Exchange, items: readonly Json[]): Promise<Answer> {
  const { profile, limits } = core.settings;
  const { batch: most } = limits;
  if (!batchesIn(profile, session.revision))
    throw new Fault("INVALID_REQUEST", "Batches are part of 2025-03-26 only; send messages one by one.", { reason: "batch-revision" });
  if (items.length === 0 || items.length > most)
    throw new Fault("INVALID_REQUEST", `A batch has 1 to ${most} messages.`, items.length === 0 ? { reason: "batch-empty" } : undefined);
  const incoming = items.map(classify);
  if (profile.wholeBatches) refuseWhole(incoming, profile.faults);
  const aside = new PostAside(core, session, exchange);
  core.silent.add(aside);
  const run = (one: Incoming): Promise<string | undefined> => answerOne(core, session, exchange, aside, one);
  const replies = profile.wholeBatches ? await inTurn(incoming, run) : await Promise.all(incoming.map(run));
  aside.end();
  const texts = replies.filter((text) => text !== undefined);
  if (aside.stream !== undefined) {
    for (const text of texts) aside.stream.send(JSON.parse(text));
    return endStream(core, session, aside.stream, undefined);
  }
  return texts.length === 0 ? { status: 202 } : { status: 200, body: `[${texts.join(",")}]` };
}

async function answerOne(
  core: Core,
  session: Session,
  exchange: Exchange,
  aside: PostAside,
  incoming: Incoming,
): Promise<string | undefined> {
  const { faults } = core.settings.profile;
  if (incoming.kind === "malformed") return errorText(incoming.id, incoming.fault, "legacy", faults);
  if (incoming.kind !== "request") {
    try {
      await heard(core, session, exchange, incoming);
      return undefined;
    } catch (error) {
      return errorText(null, faultOf(error), "legacy", faults);
    }
  }
  const answered = await performLegacy(core, session, incoming, {
    caller: exchange.caller,
    aside,
    idempotencyKey: undefined,
    ordered: false,
  });
  if (answered === undefined) return undefined;
  const text = answeredText(core, incoming, answered);
  return typeof text === "string" ? text : wholeText(text);
}

/** Throws where one of its messages is none: the batch is then answered as a whole. */
function refuseWhole(batch: readonly Incoming[], sayings: Sayings): void {
  for (const [at, one] of batch.entries())
    if (one.kind === "malformed")
      throw new Fault("INVALID_REQUEST", one.fault.message, {
        reason: "batch-element",
        about: `batch element ${at}: ${wireError(one.fault, "legacy", sayings).message.replace(/^Parse error: /, "")}`,
      });
}

async function inTurn<T, R>(all: readonly T[], run: (one: T) => Promise<R>): Promise<readonly R[]> {
  const done: R[] = [];
  for (const one of all) done.push(await run(one));
  return done;
}
