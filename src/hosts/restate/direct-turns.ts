/**
 * Turns that need nothing but their actor's own keys, answered without the SDK. It has a journal say all that a turn reads, so that
 * the actor's key would go through the server's log as it is read and as it is written, and it takes longer than such a turn.
 *
 * Law 4: what is not in the journal must be there for an attempt that runs again, so the reply goes first and the actor's own key
 * last. Until that is there a turn is made anew, must be the same, and what is there of it is left out; from then on only its end can be missing.
 */
import { hasParent } from "../../core/chain/internal.ts";
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

/** So many messages of an action that needed more go to the SDK at once: what has sent something will do so again, mostly. */
const SDK_TURNS = 63;
/** Actions that are known to need more; they may be what clients make up. */
const MAX_ACTIONS = 1_000;

/** All of the turn is the SDK's, from its beginning. Nothing has been told or done. */
class NeedsSdk extends Error {
  override readonly name = "NeedsMore";
}

/** Made once: an error looks at its stack, which takes longer than to find out that it is needed. */
const NEEDS_SDK = new NeedsSdk("This turn needs more than what is kept under its actor's own key.");
/** Whatever the message is: older events leave with it. */
const ARCHIVES_EVENTS = new NeedsSdk("This turn hands older events to the archive.");

export class DirectTurns {
  /** By the path at which the server asks for their turns. */
  readonly #actors: ReadonlyMap<string, DurableActor>;
  readonly #host: NodeHost;
  readonly #signatures: RequestSignatures | undefined;
  /** By path and action: how many more go to the SDK at once. */
  readonly #sdkTurnsLeft = new Map<string, number>();

  /** `signatures`: what has none is not answered here. */
  constructor(host: NodeHost, kinds: readonly Behaviour[], signatures?: RequestSignatures) {
    this.#host = host;
    this.#signatures = signatures;
    const silent = silentHost(host);
    this.#actors = new Map(
      kinds.map((behaviour) => [`/invoke/${host.names.actors(behaviour.kind)}/turn`, new DurableActor(behaviour, silent)]),
    );
  }

  /** Whether it is answered; where not, the SDK is to do so. Undefined: at once. */
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
        // Whatever else it is, the SDK meets it too, and knows how to tell the server.
        .catch(() => false)
    );
  }

  /** The frames that are missing in the journal. Undefined: it needs more. Throws where its input cannot be opened. */
  async answer(path: string, { key, state, input: bytes, journal }: InvocationStart): Promise<readonly Buffer[] | undefined> {
    const actor = this.#actors.get(path);
    if (actor === undefined || state === undefined || !state.has(ACTOR_KEY)) return undefined;
    const [first] = journal;
    if (first !== undefined && first.output === undefined) return undefined;
    const { kind } = actor;
    const input = this.#host.sealerFor(kind.name).open(tryParseJson(bytes.toString("utf8")));
    if (!isTurnInput(input) || input.message.to !== `${kind.name}/${key}`) return undefined;
    // Its key will be claimed.
    if (input.key !== undefined && hasParent(kind)) return undefined;
    if (journal.some(({ set }) => set === ACTOR_KEY)) {
      this.#repeatHint(input.message, first?.output);
      return [END_FRAME];
    }
    const action = `${path} ${input.message.action}`;
    if (first === undefined && this.#takesSdkTurn(action)) return undefined;
    const context = new DirectContext(state);
    try {
      const outcome = JSON.stringify(await actor.turn(context, input));
      // Not the turn whose reply is in the journal: the SDK says so to the server, which tries again.
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

  /** Whoever was cut may have been so before anybody heard of it. */
  #repeatHint(message: Message, output: Buffer | undefined): void {
    const outcome = tryParseJson(output?.toString("utf8"));
    if (isOutcome(outcome) && !hasOwn(outcome, "fault") && outcome.change !== undefined)
      this.#host.hint({ id: message.to, ...outcome.change }, message);
  }
}

function needsSdk(): never {
  throw NEEDS_SDK;
}

/** What a turn reads and sets, and nothing else. */
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

/** A fault would be told of twice: here, and by the SDK's turn, which may have to set what comes of it. */
const silentHost = (host: NodeHost): NodeHost => ({
  names: host.names,
  indexes: host.indexes,
  keyMs: host.keyMs,
  retryMs: host.retryMs,
  knows: (kind) => host.knows(kind),
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
