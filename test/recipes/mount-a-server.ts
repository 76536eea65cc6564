// The code of docs/recipes/mount-a-server.md.
import {
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { fromMcpServer, type McpServerSource, type SdkServer } from "troupe/mount";

/** Stands for a server elsewhere: messages go on to it, and its own come back. */
function remote(url: string): SdkServer {
  const far = new StreamableHTTPClientTransport(new URL(url));
  return {
    async connect(near) {
      Object.assign(near, {
        onmessage: (message: object) => void far.send(parseJSONRPCMessage(message)).catch(() => near.close()),
      });
      Object.assign(far, {
        onclose: () => void near.close(),
        onmessage(message: JSONRPCMessage) {
          const version = isJSONRPCResultResponse(message) ? message.result["protocolVersion"] : undefined;
          if (typeof version === "string") far.setProtocolVersion(version);
          void near.send(message).catch(() => far.close());
        },
      });
      await far.start();
    },
    close: () => far.close(),
  };
}

/** All that the server at `url` offers, as a source. */
export const mounted = (url: string): McpServerSource => fromMcpServer(() => remote(url));
