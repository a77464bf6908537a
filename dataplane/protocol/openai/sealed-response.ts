/** Whole responses of Responses and of compactions, whose values are sealed. Large ones are read on another thread. */
import type { ConvertedResponse, Converter, ProviderError } from '../converter.ts';
import { FailedResponse } from '../failed-response.ts';
import type { ChannelSeal } from '../sealed-values.ts';
import { compactionConverter } from './compaction.ts';
import { responsesConverter } from './responses.ts';

export type SealedKind = 'Responses' | 'Compaction';

/** Undefined: the converter's responses pass as they are, or are converted. */
export function sealedKindOf(converter: Converter): SealedKind | undefined {
  if (converter === responsesConverter) return 'Responses';
  return converter === compactionConverter ? 'Compaction' : undefined;
}

/** What only converted responses are written with. */
const NO_CALL = { id: '', model: '', createdSeconds: 0, nowSeconds: () => 0, estimatedInputTokens: 0 } as const;

interface Sealing {
  readonly seal: ChannelSeal;
  /** Sealed values that the client has already, by what is sealed in them. */
  readonly known: ReadonlyMap<string, string>;
}

/** The converted response, or the error that it is. Throws SyntaxError where it is neither. */
export function readSealedResponse(
  kind: SealedKind,
  bytes: Uint8Array,
  { seal, known }: Sealing,
): ConvertedResponse | { readonly error: ProviderError } {
  const converter = kind === 'Responses' ? responsesConverter : compactionConverter;
  try {
    return converter.response(bytes, { ...NO_CALL, seal, notes: { sealedIds: known } });
  } catch (error) {
    if (error instanceof FailedResponse) return { error: error.error };
    throw error;
  }
}
