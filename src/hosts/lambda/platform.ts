/**
 * Options of `createServer` for a server that runs in Lambda alone. An environment that has just started knows no session:
 * the client's id is adopted. Where sessions are kept in a store, set `unknownSession: "reject"` after it: what has ended there
 * would begin again under its id. `allowedHosts`: the handlers let no request through but to the host that the platform itself
 * names, or to one of their `hosts`; so do not listen with these options elsewhere.
 */
export const forLambda = { unknownSession: "adopt", allowedHosts: ["*"] } as const;

/**
 * Options of `createServer` for a container of Bedrock AgentCore Runtime, which gives session ids itself and reaches the
 * container by a name it does not promise. Source: https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/runtime-mcp-protocol-contract.html
 */
export const forAgentCore = { unknownSession: "adopt", allowedHosts: ["*"] } as const;

/** Where AgentCore Runtime looks for MCP: an option `http` of `listen`. `insecure`: who calls is checked before the container. */
export const agentCoreHttp = { host: "0.0.0.0", port: 8000, path: "/mcp", insecure: true } as const;
