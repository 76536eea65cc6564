// Owns: turns that need only their actor's own keys, answered without the SDK. Does not own: the frames (protocol.ts), the turn itself
// (durable-actor.ts).
//
// The SDK journals everything that a turn reads, so the actor's key would go through the server's log when it is read and when it is
// written; and the SDK takes longer than such a turn. Law 4: another attempt must find what is not in the journal, so the reply is
// written first and the actor's own key last. Until that key is set, an attempt makes the same turn again and skips the frames that the
// journal has. Once it is set, only the end can be missing.
import type { Behaviour, Message } from "../../core/contract/index.ts";
import { hasOwn, tryParseJson } from "../../core/contract/internal.ts";
import { isBlockKey, ACTOR_KEY } from "./stored-actor.ts";
import { DurableActor } from "./durable-actor.ts";
import type { DurableContext, NodeHost } from "./durable-context.ts";
import { isTurnInput } from "./handler-inputs.ts";
import { isOutcome } from "./outcome.ts";
import { END_FRAME, readInvocation, outputFrame, PROTOCOL, setFrame, type InvocationStart } from "./protocol.ts";
import type { RequestSignatures } from "./request-signatures.ts";
import type { TurnRequest } from "./endpoint.ts";

/** After a turn that needed the SDK, this many messages of the same action go to the SDK at once: they mostly need it too. */
const SDK_TURNS = 63;
/** Actions that are known to need the SDK. Clients may invent action names. */
const MAX_ACTIONS = 1_000;

/** The SDK has to run the turn from its beginning. Nothing was set or reported yet. */
class NeedsSdk extends Error {
  override readonly name = "NeedsSdk";
}

/** Created once: capturing a stack takes longer than finding out that the SDK is needed. */
const NEEDS_SDK = new NeedsSdk("This turn needs more than its actor's own key.");
/** Whatever the action is, this turn moves older events to the archive. */
const ARCHIVES_EVENTS = new NeedsSdk("This turn hands older events to the archive.");

export class DirectTurns {
  /** By the path under which the server invokes their turns. */
  readonly #actors: ReadonlyMap<string, DurableActor>;
  readonly #host: NodeHost;
  readonly #signatures: RequestSignatures | undefined;
  /** By path and action: how many more messages go to the SDK at once. */
  readonly #sdkTurnsLeft = new Map<string, number>();

  /** With `signatures`, unsigned requests are left to the SDK. */
  constructor(host: NodeHost, kinds: readonly Behaviour[], signatures?: RequestSignatures) {
    this.#host = host;
    this.#signatures = signatures;
    const silent = silentHost(host);
    this.#actors = new Map(
      kinds.map((behaviour) => [`/invoke/${host.names.actors(behaviour.kind)}/turn`, new DurableActor(behaviour, silent)]),
    );
  }

  /** Resolves to false if the SDK has to handle the request. Undefined if that is known at once. */
  take({ headers, url, body, stream }: TurnRequest): Promise<boolean> | undefined {
    if (headers["content-type"] !== PROTOCOL || !this.#actors.has(url) || this.#signatures?.isSigned(url, headers) === false)
      return undefined;
    return (
      body
        .peek(readInvocation)
        .then((opening) => opening && this.answer(url, opening))
        .then((frames) => {
          if (frames === undefined) return false;
          if (stream.destroyed) return true;
          stream.respond({ ":status": 200, "content-type": PROTOCOL });
          stream.end(Buffer.concat(frames));
          body.discard();
          return true;
        })
        // The SDK meets the same error, and reports it to the server.
        .catch(() => false)
    );
  }

  /** The frames that the journal lacks. Undefined if the turn needs the SDK. Throws if its input cannot be opened. */
  async answer(path: string, { key, state, input: bytes, journal }: InvocationStart): Promise<readonly Buffer[] | undefined> {
    const actor = this.#actors.get(path);
    if (actor === undefined || state === undefined || !state.has(ACTOR_KEY)) return undefined;
    const [first] = journal;
    if (first !== undefined && first.output === undefined) return undefined;
    const { kind } = actor;
    const input = this.#host.sealerFor(kind.name).open(tryParseJson(bytes.toString("utf8")));
    if (!isTurnInput(input) || input.message.to !== `${kind.name}/${key}`) return undefined;
    // The call has to claim its key.
    if (input.key !== undefined && input.message.from === undefined && this.#host.isLinked(kind.name)) return undefined;
    if (journal.some(({ set }) => set === ACTOR_KEY)) {
      this.#repeatHint(input.message, first?.output);
      return [END_FRAME];
    }
    const action = `${path} ${input.message.action}`;
    if (first === undefined && this.#takesSdkTurn(action)) return undefined;
    const context = new DirectContext(state);
    try {
      const outcome = JSON.stringify(await actor.turn(context, input));
      // It is not the turn whose reply is in the journal. The SDK reports that to the server, which retries.
      if (first?.output !== undefined && first.output.toString("utf8") !== outcome) return undefined;
      return [outputFrame(outcome), ...context.sets, END_FRAME].slice(journal.length);
    } catch (error) {
      if (error === NEEDS_SDK) this.#startSdkTurns(action);
      if (error instanceof NeedsSdk) return undefined;
      throw error;
    }
  }

  #takesSdkTurn(action: string): boolean {
    const left = this.#sdkTurnsLeft.get(action) ?? 0;
    if (left > 0) this.#sdkTurnsLeft.set(action, left - 1);
    return left > 0;
  }

  #startSdkTurns(action: string): void {
    if (this.#sdkTurnsLeft.size >= MAX_ACTIONS) this.#sdkTurnsLeft.clear();
    this.#sdkTurnsLeft.set(action, SDK_TURNS);
  }

  /** The attempt that was cut may have been cut before anyone got its hint. */
  #repeatHint(message: Message, output: Buffer | undefined): void {
    const outcome = tryParseJson(output?.toString("utf8"));
    if (isOutcome(outcome) && !hasOwn(outcome, "fault") && outcome.change !== undefined)
      this.#host.hint({ id: message.to, ...outcome.change }, message);
  }
}

function needsSdk(): never {
  throw NEEDS_SDK;
}

/** Reads and sets state. Everything else needs the SDK. */
class DirectContext implements DurableContext {
  readonly sets: Buffer[] = [];
  readonly #state: InvocationStart["state"];
  readonly invocation = needsSdk;
  readonly superseded = needsSdk;
  readonly clear = needsSdk;
  readonly run = needsSdk;
  readonly call = needsSdk;
  readonly callAll = needsSdk;
  readonly send = needsSdk;
  readonly sleep = needsSdk;

  constructor(state: InvocationStart["state"]) {
    this.#state = state;
  }

  get(name: string): Promise<string | undefined> {
    if (isBlockKey(name)) throw ARCHIVES_EVENTS;
    return Promise.resolve(this.#state?.get(name)?.toString("utf8"));
  }

  set(name: string, text: string): void {
    this.sets.push(setFrame(name, text));
  }
}

/** Reports no faults: the SDK's turn would report them again, and may have to store what follows from them. */
const silentHost = (host: NodeHost): NodeHost => ({
  names: host.names,
  indexes: host.indexes,
  keyMs: host.keyMs,
  retryMs: host.retryMs,
  knows: (kind) => host.knows(kind),
  isLinked: (kind) => host.isLinked(kind),
  sealerFor: (kind) => host.sealerFor(kind),
  rolesOf: (viewer) => host.rolesOf(viewer),
  seed: () => host.seed(),
  after: (ms, run) => host.after(ms, run),
  now: () => host.now(),
  call: (call) => host.call(call),
  history: (id, afterSeq) => host.history(id, afterSeq),
  reporters: (message, node) => host.reporters(message, node),
  abortWithCaller: (call, abort) => host.abortWithCaller(call, abort),
  hint: (change, message) => host.hint(change, message),
  report: (steps) => host.report(steps),
  fault: needsSdk,
});
