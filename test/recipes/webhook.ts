// The code of docs/recipes/webhook.md.
import { createHmac, timingSafeEqual } from "node:crypto";
import { actor } from "troupe";
import type { LocalEngine } from "troupe/engine";
import * as z from "zod";

const Event = z.object({ id: z.string().max(100), order: z.string().regex(/^[A-Z0-9-]{1,40}$/), status: z.enum(["paid", "failed"]) });

export const order = actor("order", {
  description: "An order.",
  per: "link",
  autoStart: true,
  state: z.object({ status: z.string().default("open"), seen: z.array(z.string()).default([]) }),
  messages: {
    payment: {
      input: Event,
      run({ state, args }) {
        if (state.seen.includes(args.id)) return;
        state.seen = [...state.seen.slice(-99), args.id];
        state.status = args.status;
      },
    },
  },
});

/** Handles `POST /webhook` of the payment service, which signs each request with the secret that you share. */
export async function webhook(engine: LocalEngine, secret: string, request: Request): Promise<Response> {
  const body = await request.text();
  const expected = createHmac("sha256", secret).update(body).digest();
  const given = Buffer.from(request.headers.get("x-signature") ?? "", "hex");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return new Response("Bad signature", { status: 401 });
  const event = Event.safeParse(JSON.parse(body));
  if (!event.success) return new Response("Not understood", { status: 400 });
  await engine.call({ ...order.at(event.data.order).payment(event.data), start: null });
  return new Response(null, { status: 204 });
}
