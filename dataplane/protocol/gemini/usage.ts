/**
 * Gemini's usage. Its prompt includes what was read from the cache, and neither the prompts of tools nor thoughts are
 * in the other counts. Counts of zero are left out.
 */
import { readServiceTier } from '../content-counts.ts';
import type { ReportedDetails, ReportedUsage } from '../converter.ts';
import { isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { readTokenCount, UNREPORTED_USAGE } from '../usage.ts';

/** `usage`: usageMetadata. */
export function readUsage(usage: unknown): ReportedUsage {
  if (!isRecord(usage)) return UNREPORTED_USAGE;
  const prompt = readTokenCount(usage['promptTokenCount']);
  const cached = readTokenCount(usage['cachedContentTokenCount']);
  const tools = readTokenCount(usage['toolUsePromptTokenCount']) ?? 0;
  const details = detailsOf(usage);
  const tier = readTier(usage);
  return {
    input: prompt === undefined ? undefined : Math.max(0, prompt - (cached ?? 0)) + tools,
    cached,
    cacheWrite5m: undefined,
    cacheWrite1h: undefined,
    output: outputOf(usage, (prompt ?? 0) + tools),
    ...(details && { details }),
    ...(tier !== undefined && { serviceTier: tier }),
  };
}

/** `input`: of all kinds. An answer without any output has only the total. */
function outputOf(usage: JsonRecord, input: number): number | undefined {
  const candidates = readTokenCount(usage['candidatesTokenCount']);
  const thoughts = readTokenCount(usage['thoughtsTokenCount']);
  if (candidates !== undefined || thoughts !== undefined) return (candidates ?? 0) + (thoughts ?? 0);
  const total = readTokenCount(usage['totalTokenCount']);
  return total === undefined ? undefined : Math.max(0, total - input);
}

const TIERS: Readonly<Record<string, string>> = {
  ON_DEMAND: 'standard',
  ON_DEMAND_PRIORITY: 'priority',
  ON_DEMAND_FLEX: 'flex',
};

/** Vertex reports the type of traffic, the Gemini API the tier itself. */
function readTier({ trafficType, serviceTier }: JsonRecord): string | undefined {
  const ofTraffic = typeof trafficType === 'string' ? TIERS[trafficType] : undefined;
  const tier = typeof serviceTier === 'string' ? serviceTier.toLowerCase() : undefined;
  return ofTraffic ?? (tier === 'unspecified' ? undefined : readServiceTier(tier));
}

/** Tokens that were read from the cache are not part of the input. */
function detailsOf(usage: JsonRecord): ReportedDetails | undefined {
  // embeddings have the other name
  const prompt = usage['promptTokensDetails'] ?? usage['promptTokenDetails'];
  const inputOf = (modality: string): number =>
    Math.max(0, tokensOf(prompt, modality) - tokensOf(usage['cacheTokensDetails'], modality)) +
    tokensOf(usage['toolUsePromptTokensDetails'], modality);
  const details = {
    audioInput: inputOf('AUDIO'),
    imageInput: inputOf('IMAGE'),
    reasoning: readTokenCount(usage['thoughtsTokenCount']),
    audioOutput: tokensOf(usage['candidatesTokensDetails'], 'AUDIO'),
    imageOutput: tokensOf(usage['candidatesTokensDetails'], 'IMAGE'),
  };
  const given = Object.entries(details).filter(([, count]) => count !== undefined && count > 0);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function tokensOf(details: unknown, modality: string): number {
  return itemsOf(details)
    .filter(isRecord)
    .filter((detail) => detail['modality'] === modality)
    .reduce((sum, { tokenCount }) => sum + (readTokenCount(tokenCount) ?? 0), 0);
}
