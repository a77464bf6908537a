/** Reads the choices of completions, whole or as the chunks of a stream, into events. */
import { readCandidate } from '../../candidates.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import type { ReasoningProof } from '../../conversation/reasoning.ts';
import { finishWithCalls } from '../../conversation/finish.ts';
import { Sequence } from '../../conversation/sequence.ts';
import type { CallPiece } from '../../conversation/sequence.ts';
import { convertedFields } from '../../field-table.ts';
import { isRecord, itemsOf, recordOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { readExtraSignature } from '../../openai/google-signature.ts';
import { contentText, reasoningOf } from '../../openai/output.ts';
import { clientToolName } from '../chat-provider.ts';
import type { ResponseReadContext } from '../chat-provider.ts';
import { CallIds } from '../openai-call-ids.ts';
import { readCitations } from '../openai-citations.ts';
import { readTokens } from '../openai-tokens.ts';
import { readDetails } from './reasoning-details.ts';
import type { ReasoningDetail } from './reasoning-details.ts';
import { CHOICE, FINISH_REASONS, MESSAGE, TOOL_CALL } from './table.ts';

/** A candidate while its chunks come. */
interface OpenChoice {
  readonly candidate: OfCandidate;
  readonly sequence: Sequence;
  refusal: string;
  finishReason: string | undefined;
}

export class ChoiceReader {
  readonly #context: ResponseReadContext;
  readonly #choices = new Map<number, OpenChoice>();
  readonly #ids: CallIds;

  constructor(context: ResponseReadContext) {
    this.#context = context;
    this.#ids = new CallIds(context.id);
  }

  /** The events of a whole response, or of a chunk, without those of its end. */
  read(choices: unknown): readonly ConversationEvent[] {
    return itemsOf(choices)
      .filter(isRecord)
      .flatMap((choice) => this.#readChoice(choice));
  }

  /** The events that end the response. */
  end(): readonly ConversationEvent[] {
    return [...this.#choices.values()].flatMap((choice) => {
      const rest = choice.sequence.close();
      return [...rest, finishOf(choice)];
    });
  }

  #choiceAt(index: number): OpenChoice {
    const known = this.#choices.get(index);
    if (known) return known;
    const { notes } = this.#context;
    const sequence = new Sequence({
      candidate: index,
      idOf: (given) => this.#ids.idOf(given),
      clientName: (name) => clientToolName(name, notes),
    });
    const choice: OpenChoice = { candidate: candidateOf(index), sequence, refusal: '', finishReason: undefined };
    this.#choices.set(index, choice);
    return choice;
  }

  #readChoice(given: JsonRecord): readonly ConversationEvent[] {
    const { index, message, delta, finish_reason: finishReason, logprobs } = convertedFields(CHOICE, given);
    const choice = this.#choiceAt(readCandidate(index));
    choice.finishReason = textOf(finishReason) ?? choice.finishReason;
    const { candidate, sequence } = choice;
    const events = probabilitiesOf(logprobs, candidate).flatMap((event) => sequence.add(event));
    if (isRecord(message)) return [...events, ...this.#readMessage(message, choice, true)];
    return isRecord(delta) ? [...events, ...this.#readMessage(delta, choice, false)] : events;
  }

  /** One chunk may hold several kinds of content and several calls. */
  #readMessage(message: JsonRecord, choice: OpenChoice, whole: boolean): readonly ConversationEvent[] {
    const { sequence } = choice;
    const refusal = textOf(message['refusal']);
    choice.refusal += refusal ?? '';
    const details = readDetails(convertedFields(MESSAGE, message).reasoning_details, this.#context.seal);
    const signed = details.flatMap(({ proof }) =>
      isOfCall(proof) ? sequence.sign(proof.callId, proof.signature) : [],
    );
    const content = contentEvents(message, details, choice.candidate).flatMap((event) => sequence.add(event));
    const calls = callPieces(message, whole).flatMap((piece) => sequence.addCall(piece));
    return [...signed, ...content, ...calls];
  }
}

/** In the order in which a client gets the content of one message. */
function contentEvents(
  message: JsonRecord,
  details: readonly ReasoningDetail[],
  candidate: OfCandidate,
): readonly ConversationEvent[] {
  const { content, refusal, images, annotations, extra_content: extra } = convertedFields(MESSAGE, message);
  const [text, refused, signature] = [contentText(content), textOf(refusal), readExtraSignature(extra)];
  const events: ConversationEvent[] = [...reasoningEvents(reasoningOf(message), details, candidate)];
  if (text !== undefined) events.push({ type: 'text-delta', ...candidate, text });
  for (const citation of readCitations(annotations, 0)) events.push({ ...citation, ...candidate });
  if (refused !== undefined) events.push({ type: 'refusal-delta', ...candidate, text: refused });
  for (const image of itemsOf(images)) events.push(...imageOf(image, candidate));
  if (signature !== undefined)
    events.push({ type: 'reasoning-end', ...candidate, proof: { maker: 'Gemini', signature, callId: undefined } });
  return events;
}

/** Details say the same as the text, piece by piece, and whose each piece is. */
function reasoningEvents(
  text: string | undefined,
  details: readonly ReasoningDetail[],
  candidate: OfCandidate,
): readonly ConversationEvent[] {
  const areReadable = details.some((detail) => detail.text !== '');
  const events: ConversationEvent[] = [];
  if (!areReadable && text !== undefined) events.push({ type: 'reasoning-delta', ...candidate, text });
  for (const { text: piece, proof } of details) {
    if (piece !== '') events.push({ type: 'reasoning-delta', ...candidate, text: piece });
    if (proof && !isOfCall(proof)) events.push({ type: 'reasoning-end', ...candidate, proof });
  }
  return events;
}

/** Gemini signs calls. */
function isOfCall(
  proof: ReasoningProof | undefined,
): proof is Extract<ReasoningProof, { readonly maker: 'Gemini' }> & { readonly callId: string } {
  return proof?.maker === 'Gemini' && proof.callId !== undefined;
}

const DATA_URL = /^data:([^;,]+);base64,(.*)$/s;

/** An image that is data. */
function imageOf(image: unknown, candidate: OfCandidate): readonly ConversationEvent[] {
  const { image_url: given } = recordOf(image);
  const [, mediaType, data] = DATA_URL.exec(stringOf(isRecord(given) ? given['url'] : given)) ?? [];
  return mediaType === undefined || data === undefined ? [] : [{ type: 'image', ...candidate, mediaType, data }];
}

interface OfCandidate {
  readonly candidate?: number;
}

function candidateOf(index: number): OfCandidate {
  return index === 0 ? {} : { candidate: index };
}

/** Of the text that follows. */
function probabilitiesOf(logprobs: unknown, candidate: OfCandidate): readonly ConversationEvent[] {
  const tokens = readTokens(isRecord(logprobs) ? logprobs['content'] : undefined);
  return tokens.length === 0 ? [] : [{ type: 'log-probabilities', ...candidate, tokens }];
}

/** The pieces of calls in a message or a delta, in their order; the deprecated function_call comes last. */
function callPieces(message: JsonRecord, whole: boolean): readonly CallPiece[] {
  const { tool_calls: calls, function_call: functionCall } = convertedFields(MESSAGE, message);
  const given = itemsOf(calls).filter(isRecord);
  return [
    // calls of a whole message are told apart by their place
    ...given.map((call, place) => callPiece(call, whole ? place : call['index'])),
    ...(isRecord(functionCall) ? [callPiece({ function: functionCall }, 'function_call')] : []),
  ];
}

function callPiece(call: JsonRecord, key: unknown): CallPiece {
  const { id, function: called, extra_content: extra } = convertedFields(TOOL_CALL, call);
  const { name, arguments: given } = recordOf(called);
  return {
    key,
    id: textOf(id),
    name: textOf(name),
    text: isRecord(given) ? writeJson(given) : stringOf(given),
    signature: readExtraSignature(extra),
  };
}

/** What was called and refused counts more than the reason that the provider gives. */
function finishOf({ candidate, sequence, refusal, finishReason }: OpenChoice): ConversationEvent {
  if (refusal !== '') return { type: 'finish', ...candidate, reason: 'Refusal', detail: refusal };
  const reason = FINISH_REASONS.values.get(finishReason ?? '') ?? 'Stop';
  return { type: 'finish', ...candidate, reason: finishWithCalls(reason, sequence.calledTools), detail: undefined };
}
