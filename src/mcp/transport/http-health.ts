import type { Answer } from "../../core/contract/index.ts";

/** Whether work is taken; a text: it is not, and why, for whoever asks. */
export type Readiness = boolean | string;

const OK: Answer = { status: 200, body: '{"status":"ok"}' };
const unable = (status: string, why?: string): Answer => ({ status: 503, body: JSON.stringify({ status, why }) });

/** Of `/healthz`: it runs. */
export const healthAnswer = (closing: boolean): Answer => (closing ? unable("closing") : OK);

/** Of `/readyz`: it takes work. */
export const readyAnswer = (closing: boolean, ready: () => Readiness): Answer => {
  if (closing) return unable("closing");
  const takes = ready();
  if (takes === true) return OK;
  return unable("not ready", takes === false ? undefined : takes);
};
