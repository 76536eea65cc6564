import type { Exchange } from "../../../core/contract/index.ts";
import type { Core } from "../core.ts";
import type { Notification, Response } from "../json-rpc.ts";
import { noticed } from "./perform.ts";
import type { Session } from "./session.ts";

/** What asks for no reply. What nothing here waits for may be for another node; that costs as much as a call. */
export function heard(core: Core, session: Session, { caller }: Exchange, incoming: Response | Notification): Promise<void> | undefined {
  const response = incoming.kind === "response";
  const here = response ? session.requests.answered(incoming) : noticed(session, incoming);
  if (here || session.nodes === undefined) return undefined;
  core.limit(caller, session.viewerFor(caller));
  if (response) return session.nodes.answered(session, incoming);
  session.nodes.noticed(session, incoming);
  return undefined;
}
