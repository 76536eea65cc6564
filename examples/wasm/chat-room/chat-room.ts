// Who opens a channel is a member, under the name the channel was opened with. What one says goes to all others.
// State: {"members":[channel, name, …],"history":[line, …]} as JSON. A request answers the history, a line each.
import { answer, channel, decoded, optional, state, text, utf8 } from "../lib/abi";
import { list, strings } from "../lib/json";
import { sendOnChannel } from "../lib/messages";
import { log } from "../lib/runtime";
export { cabi_realloc, post } from "../lib/abi";

const MOST_MEMBERS = 100;
const MOST_LINES = 100;
const MOST_NAME = 40;
const MOST_LINE = 1000;
const TOO_LONG = "That line is too long, and was told to nobody: 1,000 characters are the most.";

/** Null where it is longer than a line may be: a guest that runs out of memory is paused for everybody. */
function lineOf(data: usize, length: usize): string | null {
  // A character has at most four bytes.
  if (length > 4 * MOST_LINE) return null;
  const line = text(data, length);
  return line.length > MOST_LINE ? null : line;
}

class Room {
  readonly members: string[];
  history: string[];

  constructor(before: ArrayBuffer | null) {
    const json = before === null ? "" : decoded(before);
    this.members = strings(json, "members");
    this.history = strings(json, "history");
  }

  /** Where a channel (from 0) or a name (from 1) stands; −1: nowhere. */
  find(what: string, from: i32): i32 {
    for (let i = from; i < this.members.length; i += 2) if (this.members[i] == what) return i;
    return -1;
  }

  /** To all but one. */
  tell(line: string, but: string): void {
    this.history.push(line);
    if (this.history.length > MOST_LINES) this.history.shift();
    const said = utf8(line);
    for (let i = 0; i < this.members.length; i += 2) {
      const to = this.members[i];
      if (to == but) continue;
      const sent = sendOnChannel(to, said);
      // Its close comes as a message of its own.
      if (!sent.ok) log("not told: " + to + ": " + sent.error);
    }
  }

  kept(): ArrayBuffer {
    return utf8('{"members":' + list(this.members) + ',"history":' + list(this.history) + "}");
  }
}

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  return state(new Room(optional(has, at, length)).kept());
}

export function handleChannelOpen(has: i32, at: usize, length: usize, id: usize, idLength: usize, data: usize, dataLength: usize): usize {
  const before = optional(has, at, length);
  const room = new Room(before);
  const name = (lineOf(data, dataLength) || "").trim();
  if (name.length == 0 || name.length > MOST_NAME)
    return channel(before, false, utf8("Open the channel with your name, of at most 40 characters."));
  if (room.find(name, 1) >= 0) return channel(before, false, utf8("That name is taken."));
  if (room.members.length >= 2 * MOST_MEMBERS) return channel(before, false, utf8("The room is full."));
  const member = text(id, idLength);
  room.members.push(member);
  room.members.push(name);
  room.tell(name + " comes in", member);
  return channel(room.kept(), true, utf8("Welcome, " + name));
}

export function handleChannelMessage(
  has: i32,
  at: usize,
  length: usize,
  id: usize,
  idLength: usize,
  data: usize,
  dataLength: usize,
): usize {
  const room = new Room(optional(has, at, length));
  const member = text(id, idLength);
  const place = room.find(member, 0);
  const line = lineOf(data, dataLength);
  if (place >= 0 && line === null) {
    const sent = sendOnChannel(member, utf8(TOO_LONG));
    if (!sent.ok) log("not told: " + member + ": " + sent.error);
  } else if (place >= 0 && line !== null) room.tell(room.members[place + 1] + ": " + line, member);
  return state(room.kept());
}

export function handleChannelClose(has: i32, at: usize, length: usize, id: usize, idLength: usize): usize {
  const room = new Room(optional(has, at, length));
  const member = text(id, idLength);
  const place = room.find(member, 0);
  if (place >= 0) {
    const name = room.members[place + 1];
    room.members.splice(place, 2);
    room.tell(name + " leaves", member);
  }
  return state(room.kept());
}

/** Says it to everybody. */
export function handleSend(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  const room = new Room(optional(has, at, length));
  const line = lineOf(data, dataLength);
  if (line === null) log(TOO_LONG);
  else room.tell(line, "");
  return state(room.kept());
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, _data: usize, _dataLength: usize): usize {
  const before = optional(has, at, length);
  return answer(before, utf8(new Room(before).history.join("\n")));
}
