// People type questions into the search. Material for MkDocs takes each word of a query for the beginning of one: so
// "I" finds everything that begins with an i, and "cores" nothing, since the index holds the stem "core". Here small
// words are left out ("run" is one, since everything is about runs), and whole words are sent with a weight, which
// has them stemmed. The last word may be unfinished and is sent as it is, too.
const SMALL_WORDS = new Set(
  ("a about after again all am an and any anything are as at be been before but by can cannot could did do does doing " +
    "else every for from get gets got had has have how i if in into is it its let like make many may me much must my " +
    "need no not of on one only or other our out own please run runs should so some something than that the their them then " +
    "there these they thing this those to too us use used using want was way we what when where which while who why " +
    "will with work works would you your").split(" "),
)
const QUERY = 2 // the type of the message that asks the worker of Material for MkDocs

function telling(query) {
  const words = query.split(/[^\p{L}\p{N}_.']+/u).map(word => word.replace(/[.']+$/, "")).filter(Boolean)
  const kept = words.filter(word => !SMALL_WORDS.has(word.toLowerCase()))
  const sent = kept.length ? kept : words
  return [...sent.map(word => `${word}^1`), ...(/[\p{L}\p{N}]$/u.test(query) ? sent.slice(-1) : [])].join(" ")
}

const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (message, ...others) {
  if (message?.type === QUERY && typeof message.data === "string" && !/["*~^]/.test(message.data)) {
    message = { ...message, data: telling(message.data) }
  }
  return post.call(this, message, ...others)
}
