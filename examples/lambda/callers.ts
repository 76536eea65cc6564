import { authorizedCaller, bufferedHandler } from "troupe/lambda";
import { server } from "./index.ts";

/** The caller is the one that the gateway's authorizer identified. */
export const handler = bufferedHandler(server, { caller: authorizedCaller });
