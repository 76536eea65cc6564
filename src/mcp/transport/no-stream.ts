import type { Answer, Channel } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";

/** Where no stream was opened. */
export const NO_STREAM: Channel = { send() {}, ready: false, onReady: () => () => {}, gone: AbortSignal.abort(), close() {} };

export const TOO_MANY_STREAMS = refusal("BUSY", "Too many streams are open: close one.", { "retry-after": "5" });

/** What a caller reads who may have no more streams: the answer, unless that was nothing but its stream. */
export const withoutStream = (answer: Answer): Answer => (answer.status === 200 && answer.body === undefined ? TOO_MANY_STREAMS : answer);
