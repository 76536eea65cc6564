// The counter, in JavaScript. State: {"count": n} as JSON. A send of "add" adds one, a send of a number adds that, a request
// answers the count. A thrown string is what the caller is told; anything else that is thrown ends the instance.
import { log } from "theater:simple/runtime";

const decoded = (bytes) => new TextDecoder().decode(bytes);
const count = (state) => (state === undefined ? 0 : JSON.parse(decoded(state)).count);
const kept = (count) => new TextEncoder().encode(JSON.stringify({ count }));

export const actor = {
  init(state) {
    log("counter begins");
    return [kept(count(state))];
  },
};

export const messageServerClient = {
  handleSend(state, [data]) {
    const said = decoded(data).trim();
    if (said !== "add" && !/^-?\d{1,15}$/.test(said)) throw 'A counter takes "add" or a whole number of at most 15 digits.';
    const next = count(state) + (said === "add" ? 1 : Number(said));
    log(`count is ${next}`);
    return [kept(next)];
  },
  handleRequest: (state) => [state, [new TextEncoder().encode(String(count(state)))]],
  handleChannelOpen: (state) => [state, [{ accepted: false, message: new TextEncoder().encode("A counter has no channels.") }]],
  handleChannelMessage: (state) => [state],
  handleChannelClose: (state) => [state],
};
