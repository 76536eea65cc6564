// Owns: one POST of 2026-07-28: its answer, or its event stream. Does not own: how the request is performed (modern-request.ts).
import type { Answer, Bag, Channel, Exchange, Source } from "../../../core/contract/index.ts";
import { andThenElse } from "../../../core/contract/internal.ts";
import type { Core } from "../core.ts";
import { faultAnswer, requestFault } from "../errors.ts";
import { type Notification, notificationText, type Request } from "../json-rpc.ts";
import { acceptsEvents, type OutOfBandChannel, type SilentCall } from "../out-of-band.ts";
import { pieces } from "../results.ts";
import { checkMethodHeader, joined } from "./headers.ts";
import { listen } from "./listen.ts";
import { type ModernReply, ModernRequest, openRequest } from "./modern-request.ts";

/** The request of one POST. It is cancelled when its client closes the connection. */
export function modernExchange(core: Core, source: Source, exchange: Exchange, request: Request): Answer | Promise<Answer> {
  const header = headersOf(core, exchange);
  const channel = new ModernPostChannel(exchange);
  try {
    if (request.method === "subscriptions/listen")
      return subscribe(core, source, exchange, request).catch((error: unknown) => failed(error, core, channel, request));
    const { caller, gone } = exchange;
    const reply = core.work.during(() => new ModernRequest(core, request, { caller, source, channel, header, gone }).perform());
    if (reply instanceof Promise) core.silentCalls.add(channel);
    return andThenElse(reply, answer, failed, core, channel, request);
  } catch (error) {
    return failed(error, core, channel, request);
  }
}

const GONE: Answer = Object.freeze({ status: 499 });

/** Without a reply the client has left. */
function answer(reply: ModernReply, core: Core, channel: ModernPostChannel): Answer {
  core.silentCalls.delete(channel);
  return reply === undefined ? GONE : { status: 200, body: pieces(reply) };
}

function failed(error: unknown, core: Core, channel: ModernPostChannel, request: Request): Answer {
  core.silentCalls.delete(channel);
  return faultAnswer(requestFault(core, request.method, error), "modern", request.id, core.settings.dialect.faults);
}

function headersOf({ settings }: Core, exchange: Exchange): Exchange["header"] {
  if (settings.dialect.joinsHeaders) return (name) => joined(exchange.header(name));
  return (name) => exchange.header(name);
}

/** The core protocol has no notifications over HTTP; one that a client sends is accepted and ignored. */
export function modernNotification(core: Core, exchange: Exchange, notification: Notification): Answer {
  core.limit(exchange.caller);
  try {
    checkMethodHeader(headersOf(core, exchange), notification.method, core.settings.dialect.namesFirst);
  } catch (error) {
    return faultAnswer(requestFault(core, notification.method, error), "modern", null, core.settings.dialect.faults);
  }
  return { status: 202 };
}

const close = (channel: Channel): void => channel.close();

async function subscribe(core: Core, source: Source, exchange: Exchange, request: Request): Promise<Answer> {
  openRequest(core, request, headersOf(core, exchange));
  const made = await listen(core, { request, caller: exchange.caller, source, open: () => exchange.stream(), ended: close });
  // The signal of the channel, since the exchange is no longer used.
  made.cancelWith(exchange.stream().gone);
  return { status: 200, open: true };
}

/** Turns the response into an event stream once something has to be sent before the reply. */
class ModernPostChannel implements OutOfBandChannel, SilentCall {
  readonly #exchange: Exchange;
  place = -1;
  since = 0;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  notify(method: string, params: Bag): void {
    const channel = this.#exchange.stream();
    if (channel.ready) channel.send(notificationText(method, params));
  }

  breakSilence(): void {
    if (acceptsEvents(this.#exchange.header("accept") ?? "")) this.#exchange.stream();
  }
}
