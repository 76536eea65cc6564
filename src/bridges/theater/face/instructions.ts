/** Instructions for the client's model. */
export const INSTRUCTIONS = `Theater runs actors: each has a state of its own, handles one message at a time, and leaves an event for everything that happened to it.

- See who is there: the resource theater://actors, or list_actors. One actor: theater://actor/{actor_id} and …/state, or get_actor. What happened to it: theater://events/{actor_id}, or get_events. Subscribe to any of these, or call wait_for_event.
- start_actor begins one from a manifest (a path, or the manifest's own text). An actor_id is the id it gives, or the actor's unique name.
- send_message tells an actor something; request_message asks and waits for the response. Data is base64 of the bytes the actor expects, often of JSON text.
- open_channel begins a conversation: send_on_channel speaks, receive_on_channel takes what the actor said since. A channel is yours alone and ends when the actor ends, when it is closed, or after ten minutes without a call.
- An actor whose handling fails is PAUSED with its last state. theater://events/{actor_id} says after which event; restart_actor resumes it.`;
