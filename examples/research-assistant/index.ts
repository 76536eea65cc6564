import { actorCapability, auditLog, counter, histogram, idle } from "troupe/packet";
import * as z from "zod";

const text = z.string().trim().min(1).max(2_000);
const topic = z.string().trim().min(1).max(100);

const note = z.object({ message_type: z.literal("note"), text, topic: topic.default("general") });
const conversation = z.object({ message_type: z.literal("conversation"), message: text });

interface Note {
  readonly text: string;
  readonly topic: string;
  readonly at: number;
}

interface Research {
  conversation_history: { readonly message: string; readonly at: number }[];
  notes: Note[];
}

/** Limits the size of the state: the number of notes, and of messages. */
const MAX_ENTRIES = 100;
const MAX_NOTES_IN_ANSWER = 5;

const wordsOf = (sentence: string): ReadonlySet<string> => new Set(sentence.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu));

/** The notes that share the most words with a question; of equal ones the newest first. */
function notesAbout(question: string, notes: readonly Note[]): readonly Note[] {
  const questionWords = [...wordsOf(question)];
  const sharedWords = (entry: Note): number => {
    const noteWords = wordsOf(`${entry.topic} ${entry.text}`);
    return questionWords.filter((word) => noteWords.has(word)).length;
  };
  return notes
    .map((entry) => ({ entry, shared: sharedWords(entry) }))
    .filter(({ shared }) => shared > 0)
    .toSorted((a, b) => b.shared - a.shared || b.entry.at - a.entry.at)
    .slice(0, MAX_NOTES_IN_ANSWER)
    .map(({ entry }) => entry);
}

/** Stores notes, finds those that match a question, and remembers the conversation. It does not call a model. */
export const researchAssistant = actorCapability("research_assistant", {
  intent: "Take research notes, recall them, and remember the conversation",
  requires: ["message_type"],
  effects: [auditLog("info", "research"), counter("research.messages"), histogram("research.duration")],
  persistence: "disk",
  // 200 texts of 2,000 characters take up to 2.4 MB, since JSON has six bytes for some characters.
  policy: { maxStateBytes: 4_194_304 },
  timeout: idle(30 * 60_000),
  search: ["payload:message", "payload:text", "payload:topic"],
  parameters: {
    type: "object",
    properties: {
      message_type: { type: "string", enum: ["conversation", "note", "recall", "forget"], description: "What this is" },
      message: { type: "string", description: "conversation: what to ask or say" },
      text: { type: "string", description: "note: what to keep" },
      topic: { type: "string", description: "note: what it is about; recall, forget: notes about that alone" },
      actor_id: { type: "string", description: "Which assistant; your own by default" },
    },
  },
  initialState: (): Research => ({ conversation_history: [], notes: [] }),
  messages: {
    note: {
      match: note,
      run({ state, payload, now }) {
        state.notes.push({ text: payload.text, topic: payload.topic, at: now });
        if (state.notes.length > MAX_ENTRIES) state.notes.shift();
        return { noted: state.notes.length };
      },
    },
    conversation: {
      match: conversation,
      run({ state, payload, now }) {
        const matches = notesAbout(payload.message, state.notes);
        const asked_before = state.conversation_history.length;
        state.conversation_history.push({ message: payload.message, at: now });
        if (asked_before === MAX_ENTRIES) state.conversation_history.shift();
        const answer = matches.map((match) => `${match.topic}: ${match.text}`).join("\n");
        return { answer: answer || "Nothing is noted about that yet.", asked_before };
      },
    },
    recall: {
      match: { message_type: "recall" },
      view: ({ state: { notes, conversation_history }, payload }) => ({
        notes: notes.filter((one) => payload["topic"] === undefined || one.topic === payload["topic"]),
        conversation: conversation_history.map(({ message }) => message),
      }),
    },
    forget: {
      match: { message_type: "forget" },
      run({ state, payload }) {
        const before = state.notes.length;
        state.notes = state.notes.filter((one) => payload["topic"] !== undefined && one.topic !== payload["topic"]);
        return { forgotten: before - state.notes.length };
      },
    },
  },
});
