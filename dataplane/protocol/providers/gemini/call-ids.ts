/** Ids for calls to which Gemini gives none. */

const PREFIX = 'gcall_';
/** Of the request's id: OpenAI takes no ids of more than 40 characters. */
const ID_LENGTH = 24;

/** `count`: calls of the response before this one. */
export function generateCallId(requestId: string, count: number): string {
  return `${PREFIX}${requestId.slice(-ID_LENGTH)}_${count}`;
}

/** Whether the gateway has generated this id. */
export function isGeneratedCallId(id: string): boolean {
  return id.startsWith(PREFIX);
}
