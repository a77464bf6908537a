/**
 * A whole response: what the events of one add up to. Whole responses of providers are read into events as well, so
 * that a stream and a whole response of the same content cannot differ.
 */
import type { ProviderError } from '../converter.ts';
import type { CitationEvent, ConversationEvent, FinishReason, TokenProbability } from './events.ts';
import type { ReasoningProof } from './reasoning.ts';

export interface ConversationResponse {
  /** The model as the provider names it; undefined: it does not. */
  readonly model: string | undefined;
  /** At least one. */
  readonly candidates: readonly Candidate[];
  /** The response reports a failure instead of an end. */
  readonly error: ProviderError | undefined;
}

export interface Candidate {
  readonly parts: readonly ResponsePart[];
  readonly citations: readonly CitationEvent[];
  readonly logProbabilities: readonly TokenProbability[];
  /** Undefined: the provider broke off. */
  readonly finish: { readonly reason: FinishReason; readonly detail: string | undefined } | undefined;
}

export type ResponsePart =
  | { readonly type: 'Text'; readonly text: string }
  | { readonly type: 'Refusal'; readonly text: string }
  | { readonly type: 'Reasoning'; readonly text: string; readonly proof: ReasoningProof | undefined }
  | { readonly type: 'ToolCall'; readonly id: string; readonly name: string; readonly arguments: string }
  | { readonly type: 'Image'; readonly mediaType: string; readonly data: string };

interface OpenPart {
  readonly type: ResponsePart['type'];
  text: string;
  proof: ReasoningProof | undefined;
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
  closed: boolean;
}

interface OpenCandidate {
  readonly parts: OpenPart[];
  readonly citations: CitationEvent[];
  readonly logProbabilities: TokenProbability[];
  finish: Candidate['finish'];
}

/** The response that these events are. */
export function fold(events: Iterable<ConversationEvent>): ConversationResponse {
  const candidates: OpenCandidate[] = [];
  let model: string | undefined;
  let error: ProviderError | undefined;
  for (const event of events) {
    if (event.type === 'start') model = event.model;
    else if (event.type === 'error') error = event.error;
    else if (event.type !== 'ping') add(candidateAt(candidates, event.candidate ?? 0), event);
  }
  candidateAt(candidates, 0);
  return { model, error, candidates: candidates.map(closeCandidate) };
}

function candidateAt(candidates: OpenCandidate[], index: number): OpenCandidate {
  while (candidates.length <= index)
    candidates.push({ parts: [], citations: [], logProbabilities: [], finish: undefined });
  return candidates[index] ?? { parts: [], citations: [], logProbabilities: [], finish: undefined };
}

type ContentEvent = Exclude<ConversationEvent, { type: 'start' | 'error' | 'ping' }>;

/** The parts that deltas add text to. */
const DELTAS = {
  'text-delta': 'Text',
  'refusal-delta': 'Refusal',
  'reasoning-delta': 'Reasoning',
  'call-delta': 'ToolCall',
} as const;

function add(candidate: OpenCandidate, event: ContentEvent): void {
  switch (event.type) {
    case 'reasoning-end':
      return endReasoning(candidate, event.proof);
    case 'call-start':
      return void candidate.parts.push(newPart('ToolCall', { id: event.id, name: event.name }));
    case 'call-end':
      return void (openPart(candidate, 'ToolCall').closed = true);
    case 'image':
      return void candidate.parts.push(newPart('Image', { text: event.data, mediaType: event.mediaType }));
    case 'citation':
      return void candidate.citations.push(event);
    case 'log-probabilities':
      return void candidate.logProbabilities.push(...event.tokens);
    case 'finish':
      return void (candidate.finish = { reason: event.reason, detail: event.detail });
    default:
      openPart(candidate, DELTAS[event.type]).text += event.text;
  }
}

function newPart(type: OpenPart['type'], given: Partial<OpenPart> = {}): OpenPart {
  return { type, text: '', proof: undefined, id: '', name: '', mediaType: '', closed: false, ...given };
}

/** The last part if it is of this type and open, else a new one. */
function openPart({ parts }: OpenCandidate, type: OpenPart['type']): OpenPart {
  const last = parts.at(-1);
  if (last?.type === type && !last.closed) return last;
  const part = newPart(type);
  parts.push(part);
  return part;
}

/** Without a proof and without open reasoning there is nothing to end. */
function endReasoning(candidate: OpenCandidate, proof: ReasoningProof | undefined): void {
  const last = candidate.parts.at(-1);
  const isOpen = last?.type === 'Reasoning' && !last.closed;
  if (!isOpen && proof === undefined) return;
  // what only its maker can read is a piece of its own
  if (last && isOpen && proof && 'redacted' in proof) last.closed = true;
  const part = openPart(candidate, 'Reasoning');
  part.proof = proof;
  part.closed = true;
}

function closeCandidate({ parts, citations, logProbabilities, finish }: OpenCandidate): Candidate {
  return { parts: parts.map(closePart), citations, logProbabilities, finish };
}

function closePart({ type, text, proof, id, name, mediaType }: OpenPart): ResponsePart {
  switch (type) {
    case 'Text':
    case 'Refusal':
      return { type, text };
    case 'Reasoning':
      return { type, text, proof };
    case 'ToolCall':
      return { type, id, name, arguments: text };
    case 'Image':
      return { type, mediaType, data: text };
  }
}
