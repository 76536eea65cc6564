import { type Answer, type Bag, type CancelSignal, type Channel, type Exchange, type Source } from "../../../core/contract/index.ts";
import { acceptsEvents } from "../accepts.ts";
import type { Aside } from "../aside.ts";
import type { Core } from "../core.ts";
import { faultAnswer } from "../fault-answers.ts";
import { type Notification, notificationText, type Request, type RequestId } from "../json-rpc.ts";
import { pieces, type ReplyText } from "../reply.ts";
import { requestFault } from "../fault-answers.ts";
import { Running } from "../running.ts";
import type { SilentCall } from "../silent-calls.ts";
import { checkMethodHeader, joined } from "./headers.ts";
import { listen } from "./listen.ts";
import { openRequest, performModern } from "./perform.ts";

/** One POST of 2026-07-28: a request of its own. The client closing the connection cancels it. */
export function modernExchange(core: Core, source: Source, exchange: Exchange, request: Request): Answer | Promise<Answer> {
  const header = headersOf(core, exchange);
  const failed = (error: unknown): Answer =>
    faultAnswer(requestFault(core, request.method, error), "modern", request.id, core.settings.profile.faults);
  try {
    if (request.method === "subscriptions/listen") return subscribe(core, source, exchange, request).catch(failed);
    const aside = new StreamAside(exchange);
    const asking = {
      caller: exchange.caller,
      source,
      aside,
      signal: new Waiting(request.id, exchange.gone),
      header,
    };
    const reply = core.work.during(() => performModern(core, request, asking));
    if (!(reply instanceof Promise)) return answer(reply);
    core.silent.add(aside);
    return reply.then(
      (late) => {
        core.silent.delete(aside);
        return answer(late);
      },
      (error: unknown) => {
        core.silent.delete(aside);
        return failed(error);
      },
    );
  } catch (error) {
    return failed(error);
  }
}

function headersOf({ settings }: Core, exchange: Exchange): Exchange["header"] {
  if (settings.profile.joinsHeaders) return (name) => joined(exchange.header(name));
  return (name) => exchange.header(name);
}

const GONE: Answer = Object.freeze({ status: 499 });

/** Without a reply, nobody is there to read it. */
const answer = (reply: ReplyText | undefined): Answer => (reply === undefined ? GONE : { status: 200, body: pieces(reply) });

/** The core protocol has no notification over HTTP; what a client sends all the same is taken and ignored. */
export function modernNotification(core: Core, exchange: Exchange, notification: Notification): Answer {
  core.limit(exchange.caller);
  try {
    checkMethodHeader(headersOf(core, exchange), notification.method, core.settings.profile.namesFirst);
  } catch (error) {
    return faultAnswer(requestFault(core, notification.method, error), "modern", null, core.settings.profile.faults);
  }
  return { status: 202 };
}

const close = (channel: Channel): void => channel.close();

async function subscribe(core: Core, source: Source, exchange: Exchange, request: Request): Promise<Answer> {
  openRequest(core, request, headersOf(core, exchange));
  const made = await listen(core, { request, caller: exchange.caller, source, open: () => exchange.stream(), ended: close });
  // Of the channel, not the exchange: that is of no more use.
  made.heed(exchange.stream().gone);
  return { status: 200, open: true };
}

/** Turns the response into an event stream when something has to be said before the reply. */
class StreamAside implements Aside, SilentCall {
  readonly #exchange: Exchange;
  place = -1;
  since = 0;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  tell(method: string, params: Bag): void {
    const channel = this.#exchange.stream();
    if (channel.ready) channel.send(notificationText(method, params));
  }

  breakSilence(): void {
    if (acceptsEvents(this.#exchange.header("accept") ?? "")) this.#exchange.stream();
  }
}

/** Aborted where the client has left, and where it was answered before the end. Listens only where somebody listens here. */
class Waiting extends Running {
  readonly #gone: CancelSignal;
  #listens = false;

  constructor(id: RequestId, gone: CancelSignal) {
    super(id);
    this.#gone = gone;
  }

  override get aborted(): boolean {
    return super.aborted || this.#gone.aborted;
  }

  override addEventListener(type: "abort", listener: () => void): void {
    super.addEventListener(type, listener);
    if (this.#listens) return;
    this.#listens = true;
    this.#gone.addEventListener("abort", () => this.abort(), { once: true });
  }
}
