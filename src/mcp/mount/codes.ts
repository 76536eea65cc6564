/** JSON-RPC's numbers as a foreign server answers with them, and is answered. */
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const RESOURCE_NOT_FOUND = -32002;
export const URL_ELICITATION_REQUIRED = -32042;
