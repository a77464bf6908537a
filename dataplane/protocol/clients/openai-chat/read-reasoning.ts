/** Reads the reasoning that an assistant's message keeps, in the first of the forms that clients have for it. */
import type { ReasoningPart } from '../../conversation/request.ts';
import type { ReasoningProof } from '../../conversation/reasoning.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { detailMaker, detailText } from '../../openai/detail-formats.ts';
import { readKeptProof } from '../kept-proof.ts';
import type { ASSISTANT_MESSAGE } from './table.ts';

type Kept = Readonly<
  Record<Extract<NonNullable<typeof ASSISTANT_MESSAGE.converted>, `reasoning${string}` | 'thinking_blocks'>, unknown>
>;

export function readReasoning(kept: Kept, path: string): readonly ReasoningPart[] {
  const details = readDetails(kept.reasoning_details, `${path}.reasoning_details`);
  if (details.length > 0) return details;
  const blocks = readBlocks(kept.thinking_blocks, `${path}.thinking_blocks`);
  if (blocks.length > 0) return blocks;
  const member = textOf(kept.reasoning_content) === undefined ? 'reasoning' : 'reasoning_content';
  const text = textOf(kept[member]);
  return text === undefined ? [] : [{ type: 'Reasoning', text, proof: undefined, path: `${path}.${member}` }];
}

/** LiteLLM's clients return Anthropic's blocks. */
function readBlocks(blocks: unknown, param: string): readonly ReasoningPart[] {
  return itemsOf(blocks).flatMap((block, index): readonly ReasoningPart[] => {
    if (!isRecord(block)) return [];
    const { type, thinking, signature, data } = block;
    const part = { type: 'Reasoning' as const, path: `${param}[${index}]` };
    if (type === 'redacted_thinking' && textOf(data) !== undefined)
      return [{ ...part, text: '', proof: { maker: 'Anthropic', redacted: stringOf(data) } }];
    return type === 'thinking'
      ? [{ ...part, text: stringOf(thinking), proof: readKeptProof(stringOf(signature)) }]
      : [];
  });
}

/** A piece of reasoning, of which a stream's details are put together. */
interface OpenPart {
  readonly index: unknown;
  readonly format: string;
  readonly path: string;
  text: string;
  proof: ReasoningProof | undefined;
}

/** One piece may come in several details. */
function readDetails(value: unknown, param: string): readonly ReasoningPart[] {
  const parts: OpenPart[] = [];
  for (const [at, detail] of itemsOf(value).entries()) {
    if (!isRecord(detail)) continue;
    const format = stringOf(detail['format']);
    const { index } = detail;
    const last = parts.at(-1);
    const proof = proofOf(detail);
    const isAlone = proof !== undefined && 'redacted' in proof;
    const goesOn = last && last.index === index && last.format === format && !last.proof && !isAlone;
    const part = goesOn ? last : { index, format, path: `${param}[${at}]`, text: '', proof };
    if (part !== last) parts.push(part);
    part.text += detailText(detail);
    part.proof = proof;
  }
  return parts
    .filter(({ text, proof }) => text !== '' || proof)
    .map(({ text, proof, path }) => ({ type: 'Reasoning', text, proof, path }));
}

/** By the format, which names the maker. Signatures that the gateway wrote name it themselves. */
function proofOf(detail: JsonRecord): ReasoningProof | undefined {
  const { type, signature, data } = detail;
  const signed = readKeptProof(stringOf(signature));
  const maker = detailMaker(detail);
  if (signed) return signed.maker === 'Anthropic' && maker !== 'Anthropic' ? undefined : signed;
  const hidden = textOf(data);
  if (type !== 'reasoning.encrypted' || hidden === undefined) return undefined;
  return hiddenProof(hidden, textOf(detail['id']), maker);
}

/** What OpenRouter keeps of each maker. */
function hiddenProof(
  data: string,
  id: string | undefined,
  maker: ReturnType<typeof detailMaker>,
): ReasoningProof | undefined {
  if (maker === 'Anthropic') return { maker, redacted: data };
  if (maker === 'Gemini') return { maker, signature: data, callId: id };
  return maker && { maker, id: id ?? '', encrypted: data };
}
