// Each open channel is a member, named by the channel's first message. A member's line is sent to all others.
// State: {"members":[channel, name, …],"history":[line, …]} as JSON. A request replies with the history, one line each.
import { answer, channel, decoded, optional, state, text, utf8 } from "../lib/abi";
import { list, strings } from "../lib/json";
import { sendOnChannel } from "../lib/messages";
import { log } from "../lib/runtime";
export { cabi_realloc, post } from "../lib/abi";

const MAX_MEMBERS = 100;
const MAX_LINES = 100;
const MAX_NAME_LENGTH = 40;
const MAX_LINE_LENGTH = 1000;
const TOO_LONG = "That line is too long, and was told to nobody: 1,000 characters are the most.";

/** Returns null if the line is too long: a guest that runs out of memory is paused for all members. */
function lineOf(data: usize, length: usize): string | null {
  // A character has at most four bytes.
  if (length > 4 * MAX_LINE_LENGTH) return null;
  const line = text(data, length);
  return line.length > MAX_LINE_LENGTH ? null : line;
}

class Room {
  readonly members: string[];
  history: string[];

  constructor(before: ArrayBuffer | null) {
    const json = before === null ? "" : decoded(before);
    this.members = strings(json, "members");
    this.history = strings(json, "history");
  }

  /** The index of a channel (`from` is 0) or a name (`from` is 1), or -1. */
  find(what: string, from: i32): i32 {
    for (let i = from; i < this.members.length; i += 2) if (this.members[i] == what) return i;
    return -1;
  }

  /** Sends a line to all members except `sender`. */
  broadcast(line: string, sender: string): void {
    this.history.push(line);
    if (this.history.length > MAX_LINES) this.history.shift();
    const message = utf8(line);
    for (let i = 0; i < this.members.length; i += 2) {
      const to = this.members[i];
      if (to == sender) continue;
      const sent = sendOnChannel(to, message);
      // The member is removed by handleChannelClose.
      if (!sent.ok) log("not told: " + to + ": " + sent.error);
    }
  }

  encode(): ArrayBuffer {
    return utf8('{"members":' + list(this.members) + ',"history":' + list(this.history) + "}");
  }
}

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  return state(new Room(optional(has, at, length)).encode());
}

export function handleChannelOpen(has: i32, at: usize, length: usize, id: usize, idLength: usize, data: usize, dataLength: usize): usize {
  const before = optional(has, at, length);
  const room = new Room(before);
  const name = (lineOf(data, dataLength) || "").trim();
  if (name.length == 0 || name.length > MAX_NAME_LENGTH)
    return channel(before, false, utf8("Open the channel with your name, of at most 40 characters."));
  if (room.find(name, 1) >= 0) return channel(before, false, utf8("That name is taken."));
  if (room.members.length >= 2 * MAX_MEMBERS) return channel(before, false, utf8("The room is full."));
  const member = text(id, idLength);
  room.members.push(member);
  room.members.push(name);
  room.broadcast(name + " comes in", member);
  return channel(room.encode(), true, utf8("Welcome, " + name));
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
  } else if (place >= 0 && line !== null) room.broadcast(room.members[place + 1] + ": " + line, member);
  return state(room.encode());
}

export function handleChannelClose(has: i32, at: usize, length: usize, id: usize, idLength: usize): usize {
  const room = new Room(optional(has, at, length));
  const member = text(id, idLength);
  const place = room.find(member, 0);
  if (place >= 0) {
    const name = room.members[place + 1];
    room.members.splice(place, 2);
    room.broadcast(name + " leaves", member);
  }
  return state(room.encode());
}

/** Sends a line to all members. */
export function handleSend(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  const room = new Room(optional(has, at, length));
  const line = lineOf(data, dataLength);
  if (line === null) log(TOO_LONG);
  else room.broadcast(line, "");
  return state(room.encode());
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, _data: usize, _dataLength: usize): usize {
  const before = optional(has, at, length);
  return answer(before, utf8(new Room(before).history.join("\n")));
}
