import type { Answer } from "../contract/index.ts";

const state = (ok: boolean, word: string): Answer =>
  ok ? { status: 200, body: '{"status":"ok"}' } : { status: 503, body: `{"status":"${word}"}` };

/** Of `/healthz`: it runs. */
export const healthAnswer = (closing: boolean): Answer => state(!closing, "closing");

/** Of `/readyz`: it takes work. */
export const readyAnswer = (closing: boolean, ready: () => boolean): Answer =>
  state(!closing && ready(), closing ? "closing" : "not ready");
