import { streamingHandler } from "troupe/lambda";
import { server } from "./index.ts";

/** For a REST API or a function URL that streams. */
export const handler = streamingHandler(server);
