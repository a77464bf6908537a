/** Reads responses of Gemini, whole or as the chunks of a stream, into events. */
import { readCandidate } from '../../candidates.ts';
import type { ConversationEvent, TokenProbability } from '../../conversation/events.ts';
import { finishWithCalls } from '../../conversation/finish.ts';
import { convertedFields } from '../../field-table.ts';
import { isRecord, itemsOf, recordOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { readGeminiStreamError } from '../../gemini/errors.ts';
import { writeJson } from '../../json-value.ts';
import type { OutputTally } from '../../output-tally.ts';
import { clientToolName } from '../chat-provider.ts';
import type { ResponseReadContext } from '../chat-provider.ts';
import { generateCallId } from './call-ids.ts';
import { CANDIDATE, FINISH_REASONS, RESPONSE } from './table.ts';

interface ResponseEnd {
  /** A finishReason, or BLOCKED where the prompt itself was refused. */
  readonly reason: string;
  readonly message: string | undefined;
}

/** A candidate while its chunks come. */
interface OpenCandidate {
  calls: number;
  end: ResponseEnd | undefined;
}

/** Reasons of which a call for images has no other end at another channel either. */
const NO_IMAGE = /^(?:NO_IMAGE|IMAGE_[A-Z_]+)$/;

/** Reads the candidates of one response. Gemini sends parts without any beginning or end, and calls whole. */
export class CandidateReader {
  readonly #context: ResponseReadContext;
  readonly #tally: OutputTally;
  readonly #candidates = new Map<number, OpenCandidate>();
  #calls = 0;

  constructor(context: ResponseReadContext, tally: OutputTally) {
    this.#context = context;
    this.#tally = tally;
  }

  /** Whether every candidate that was read has an end. */
  get ended(): boolean {
    return this.#candidates.size > 0 && [...this.#candidates.values()].every(({ end }) => end !== undefined);
  }

  /** The events of a whole response, or of a chunk, without those of its end. */
  read(response: JsonRecord): readonly ConversationEvent[] {
    const { candidates, promptFeedback } = convertedFields(RESPONSE, response);
    const blocked = blockOf(promptFeedback);
    const given = itemsOf(candidates).filter(isRecord);
    if (given.length === 0 && blocked) this.#candidateAt(0).end ??= blocked;
    return given.flatMap((candidate) => this.#readCandidate(candidate, blocked));
  }

  /** The events that end the response. */
  end(): readonly ConversationEvent[] {
    return [...this.#candidates].map(([candidate, { end, calls }]): ConversationEvent => {
      const { reason, message } = end ?? { reason: 'STOP', message: undefined };
      const known = FINISH_REASONS.values.get(reason);
      if (known === undefined)
        return this.#context.asksForImages === true && NO_IMAGE.test(reason)
          ? {
              type: 'finish',
              candidate,
              reason: 'Refusal',
              detail: message ?? `The model has made no image (${reason}).`,
            }
          : failure(reason, message);
      // Gemini stops with STOP for a tool's call, too
      const finish = finishWithCalls(known, calls > 0);
      const detail =
        finish === 'Refusal' ? (message ?? `Google's filter has stopped the answer (${reason}).`) : undefined;
      return { type: 'finish', candidate, reason: finish, detail };
    });
  }

  #candidateAt(index: number): OpenCandidate {
    const known = this.#candidates.get(index) ?? { calls: 0, end: undefined };
    this.#candidates.set(index, known);
    return known;
  }

  #readCandidate(given: JsonRecord, blocked: ResponseEnd | undefined): readonly ConversationEvent[] {
    const { index, content, finishReason, finishMessage, logprobsResult } = convertedFields(CANDIDATE, given);
    const candidate = readCandidate(index);
    const open = this.#candidateAt(candidate);
    const reason = textOf(finishReason);
    open.end ??= reason === undefined ? blocked : { reason, message: textOf(finishMessage) };
    const parts = itemsOf(isRecord(content) ? content['parts'] : undefined).filter(isRecord);
    return [
      ...readLogProbabilities(logprobsResult, candidate),
      ...parts.flatMap((part) => this.#readPart(part, candidate)),
    ];
  }

  #readPart(part: JsonRecord, candidate: number): readonly ConversationEvent[] {
    const { text, thought, functionCall, inlineData, thoughtSignature } = part;
    const signature = textOf(thoughtSignature);
    if (isRecord(functionCall)) return this.#readCall(functionCall, signature, candidate);
    if (isRecord(inlineData)) {
      // a draft, which comes again as it is meant to be
      if (thought === true) return [];
      this.#tally.addImage();
      const [mediaType, data] = [stringOf(inlineData['mimeType']), stringOf(inlineData['data'])];
      return [{ type: 'image', candidate, mediaType, data }];
    }
    if (typeof text !== 'string') return [];
    this.#tally.add(text);
    if (thought === true) return text === '' ? [] : [{ type: 'reasoning-delta', candidate, text }];
    const said: readonly ConversationEvent[] = text === '' ? [] : [{ type: 'text-delta', candidate, text }];
    return signature === undefined ? said : [...said, signed(candidate, signature)];
  }

  /** Gemini may leave the id out, and the arguments of a function without any. One without a name is no call. */
  #readCall(
    { id: given, name: sent, args }: JsonRecord,
    signature: string | undefined,
    candidate: number,
  ): readonly ConversationEvent[] {
    const name = clientToolName(stringOf(sent), this.#context.notes);
    const text = writeJson(recordOf(args));
    this.#tally.add(name);
    this.#tally.add(text);
    if (name === '') return [];
    const id = textOf(given) ?? generateCallId(this.#context.id, this.#calls);
    this.#calls++;
    this.#candidateAt(candidate).calls++;
    return [
      ...(signature === undefined ? [] : [signed(candidate, signature, id)]),
      { type: 'call-start', candidate, id, name },
      { type: 'call-delta', candidate, text },
      { type: 'call-end', candidate },
    ];
  }
}

/** Of the candidate's text, or of the chunk's. */
function readLogProbabilities(result: unknown, candidate: number): readonly ConversationEvent[] {
  if (!isRecord(result)) return [];
  const alternatives = itemsOf(result['topCandidates']).map((step) =>
    readTokens(isRecord(step) ? step['candidates'] : undefined),
  );
  const chosen = readTokens(result['chosenCandidates']);
  const tokens = chosen.map((token, index) => ({ ...token, alternatives: alternatives[index] ?? [] }));
  return tokens.length === 0 ? [] : [{ type: 'log-probabilities', candidate, tokens }];
}

function readTokens(tokens: unknown): readonly Pick<TokenProbability, 'token' | 'logProbability'>[] {
  return itemsOf(tokens)
    .filter(isRecord)
    .map(({ token, logProbability }) => ({
      token: stringOf(token),
      logProbability: typeof logProbability === 'number' ? logProbability : 0,
    }));
}

function signed(candidate: number, signature: string, callId?: string): ConversationEvent {
  return { type: 'reasoning-end', candidate, proof: { maker: 'Gemini', signature, callId } };
}

function blockOf(feedback: unknown): ResponseEnd | undefined {
  const reason = isRecord(feedback) ? textOf(feedback['blockReason']) : undefined;
  return reason === undefined
    ? undefined
    : { reason: 'BLOCKED', message: `Google's filter refused the prompt (${reason}).` };
}

function failure(reason: string, message: string | undefined): ConversationEvent {
  const words = message === undefined ? '' : `: ${message}`;
  const error = { status: 'INTERNAL', message: `The model's output could not be read (${reason})${words || '.'}` };
  return { type: 'error', error: readGeminiStreamError({ error }) };
}
