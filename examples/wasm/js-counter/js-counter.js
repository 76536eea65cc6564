// The counter, in JavaScript. State: {"count": n} as JSON. Sending "add" adds one, sending a number adds that number, and a request
// replies with the count. The caller gets a thrown string as the reason; any other error ends the instance.
import { log } from "theater:simple/runtime";

const decoded = (bytes) => new TextDecoder().decode(bytes);
const count = (state) => (state === undefined ? 0 : JSON.parse(decoded(state)).count);
const encoded = (count) => new TextEncoder().encode(JSON.stringify({ count }));

export const actor = {
  init(state) {
    log("counter begins");
    return [encoded(count(state))];
  },
};

export const messageServerClient = {
  handleSend(state, [data]) {
    const message = decoded(data).trim();
    if (message !== "add" && !/^-?\d{1,15}$/.test(message)) throw 'A counter takes "add" or a whole number of at most 15 digits.';
    const next = count(state) + (message === "add" ? 1 : Number(message));
    log(`count is ${next}`);
    return [encoded(next)];
  },
  handleRequest: (state) => [state, [new TextEncoder().encode(String(count(state)))]],
  handleChannelOpen: (state) => [state, [{ accepted: false, message: new TextEncoder().encode("A counter has no channels.") }]],
  handleChannelMessage: (state) => [state],
  handleChannelClose: (state) => [state],
};
