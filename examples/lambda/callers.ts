import { authorizedCaller, bufferedHandler } from "troupe/lambda";
import { server } from "./index.ts";

/** Who calls is what the gateway's authorizer found out. */
export const handler = bufferedHandler(server, { caller: authorizedCaller });
