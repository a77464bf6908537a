/** A request to the demo provider, parsed, in a form that both protocols share. */

/** A tool as the caller declared it. */
export interface Tool {
  readonly name: string;
  readonly schema: unknown;
}

export interface Prompt {
  readonly model: string;
  readonly stream: boolean;
  /** The output limit, in tokens; undefined: none. */
  readonly maxTokens: number | undefined;
  /** All texts of the conversation in order, the system's included. */
  readonly texts: readonly string[];
  /** The last message of the user, the only text that rules look at. */
  readonly lastText: string;
  /** The content of the tool result, if that is the last message. */
  readonly toolResult: string | undefined;
  readonly images: number;
  readonly tools: readonly Tool[];
  /** The tools as they were declared, for counting their tokens. */
  readonly toolTexts: readonly string[];
  /** The JSON schema that the answer must match; undefined: any text. */
  readonly answerSchema: unknown;
  /** The name of the tool that must be called; "" for any tool. */
  readonly forcedTool: string | undefined;
}

/** A request that the provider refuses, with the invalid field. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
  readonly param: string;
  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An array of objects; anything else counts as empty. */
export function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The text of a message's content: a string, or blocks of which some contain text. */
export function contentText(content: unknown): string {
  return typeof content === 'string'
    ? content
    : objectsIn(content)
        .map((block) => textIn(block['text']))
        .filter((text) => text !== '')
        .join('\n');
}

/** @throws BadRequest if the field is missing or not a string. */
export function requiredText(body: Json, field: string): string {
  const value = body[field];
  if (typeof value !== 'string' || value === '')
    throw new BadRequest(field, `${field} is required and must be a string`);
  return value;
}

/** The messages; throws if there are none. */
export function requiredMessages(body: Json): Json[] {
  const messages = objectsIn(body['messages']);
  if (messages.length === 0)
    throw new BadRequest('messages', 'messages is required and must hold at least one message');
  return messages;
}

/** A positive whole number; undefined if the field is absent or null. */
export function optionalCount(body: Json, field: string): number | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1)
    throw new BadRequest(field, `${field} must be a whole number of at least 1`);
  return value;
}
