/**
 * Writes the chunks of one answer: what they have in common is written once, and a chunk's JSON is put together around its delta.
 */
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';

export interface ChunkHead {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

export class ChunkWriter {
  readonly #head: string;
  readonly #delta: string;
  readonly #tail: string;
  readonly #usageNull: string;

  /** `usageNull`: chunks say that the figures come later, as a client that asked for them expects. */
  constructor({ id, createdSeconds, model }: ChunkHead, usageNull: boolean) {
    this.#head = `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${createdSeconds},"model":${JSON.stringify(model)},"choices":[`;
    this.#usageNull = usageNull ? ',"usage":null' : '';
    this.#delta = `${this.#head}{"index":0,"delta":`;
    this.#tail = `,"logprobs":null,"finish_reason":null}]${this.#usageNull}}\n\n`;
  }

  /** One member of the delta that is a text: hundreds of these make an answer. */
  text(member: 'content' | 'reasoning_content' | 'refusal', text: string): string {
    return `${this.#delta}{"${member}":${JSON.stringify(text)}}${this.#tail}`;
  }

  /** A piece of a call's arguments. */
  arguments(index: number, text: string): string {
    return `${this.#delta}{"tool_calls":[{"index":${index},"function":{"arguments":${JSON.stringify(text)}}}]}${this.#tail}`;
  }

  delta(delta: JsonRecord): string {
    return `${this.#delta}${writeJson(delta)}${this.#tail}`;
  }

  finish(reason: string, serviceTier: string | undefined): string {
    const tier = serviceTier === undefined ? '' : `,"service_tier":${JSON.stringify(serviceTier)}`;
    return `${this.#delta}{},"logprobs":null,"finish_reason":${JSON.stringify(reason)}}]${tier}${this.#usageNull}}\n\n`;
  }

  usage(usage: JsonRecord): string {
    return `${this.#head}],"usage":${writeJson(usage)}}\n\n`;
  }
}
