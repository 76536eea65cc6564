// Owns: what stands for a session's id in actors, chains and logs. Does not own: sessions (legacy/session.ts).

import { sha256Hex } from "../../core/platform/index.ts";

/** Of the id, which is a secret of the client. It is the principal of a session without authentication. */
export const sessionName = (id: string): string => `session|${sha256Hex(id).slice(0, 32)}`;
