/** The message that begins an actor and does nothing else. No author can name a message so, since names have no slash. */
export const BEGIN_ACTION = "troupe/begin";
