import type { Answer, Bag, Exchange, Source } from "../../contract/index.ts";
import type { Aside } from "../aside.ts";
import type { Core } from "../core.ts";
import { faultOf } from "../errors.ts";
import { faultAnswer } from "../fault-answer.ts";
import { type Notification, notificationText, type Request } from "../json-rpc.ts";
import { pieces } from "../reply.ts";
import { listen } from "./listen.ts";
import { openRequest, performModern } from "./perform.ts";

/** One POST of 2026-07-28: a request of its own. The client closing the connection cancels it. */
export async function modernExchange(core: Core, source: Source, exchange: Exchange, request: Request): Promise<Answer> {
  const header = (name: string): string | undefined => exchange.header(name);
  try {
    if (request.method === "subscriptions/listen") return await subscribe(core, source, exchange, request);
    const aside = new StreamAside(exchange);
    const reply = await core.work.during(() =>
      performModern(core, request, { caller: exchange.caller, source, aside, signal: exchange.gone, header }),
    );
    // Nobody is there to read it.
    if (reply === undefined) return { status: 499 };
    return { status: 200, body: pieces(reply) };
  } catch (error) {
    return faultAnswer(faultOf(error), "modern", request.id);
  }
}

/** The core protocol has no notification over HTTP; what a client sends all the same is taken and ignored. */
export function modernNotification(core: Core, exchange: Exchange, _notification: Notification): Answer {
  core.limit(exchange.caller);
  return { status: 202 };
}

async function subscribe(core: Core, source: Source, exchange: Exchange, request: Request): Promise<Answer> {
  openRequest(request, (name) => exchange.header(name));
  const made = await listen(core, {
    request,
    caller: exchange.caller,
    source,
    open: () => exchange.stream(),
    ended: () => exchange.stream().close(),
  });
  if (exchange.gone.aborted) made.cancel();
  else exchange.gone.addEventListener("abort", () => made.cancel(), { once: true });
  return { status: 200, open: true };
}

/** Turns the response into an event stream when something has to be said before the reply. */
class StreamAside implements Aside {
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  tell(method: string, params: Bag): void {
    const channel = this.#exchange.stream();
    if (channel.ready) channel.send(notificationText(method, params));
  }
}
