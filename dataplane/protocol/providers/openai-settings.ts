/** Settings that chat completions and Responses take alike. */
import { createHash } from 'node:crypto';
import { askForFormat, isObjectFormat } from '../conversation/formats.ts';
import type { ResponseFormat, Settings } from '../conversation/request.ts';
import type { RequestPlan } from '../converter.ts';
import { textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { openAiStrictSchema } from '../json-schemas.ts';

/** The API's limit. */
const MAX_USER_LENGTH = 64;
/** The name of a schema that has none. */
const SCHEMA_NAME = 'answer';

export interface HeldFormat {
  /** What the model is held to: any JSON object, or a schema with its name; undefined: nothing. */
  readonly held?: 'Json' | JsonRecord;
  /** Paragraphs for the system prompt. */
  readonly instructions: readonly string[];
}

/** A model that cannot be held to a format is asked for it instead. */
export function writeFormat(given: ResponseFormat | undefined, strictSchemas: boolean): HeldFormat {
  if (!given) return { instructions: [] };
  if (given.type === 'Json') return { held: 'Json', instructions: [] };
  if (given.type === 'Words' || !isObjectFormat(given)) return { instructions: [askForFormat(given)] };
  if (!strictSchemas) return { held: 'Json', instructions: [askForFormat(given)] };
  const { schema, name = SCHEMA_NAME, description } = given;
  const strict = given.strict === false ? undefined : openAiStrictSchema(schema);
  return {
    held: { name, schema: strict ?? schema, strict: strict !== undefined, description },
    instructions: [],
  };
}

/** OpenAI refuses long ids; a digest still tells users apart. */
export function writeUser(user: string | undefined): string | undefined {
  return user === undefined || user.length <= MAX_USER_LENGTH ? user : createHash('sha256').update(user).digest('hex');
}

export function writeTier(tier: string | undefined): string | undefined {
  return tier === 'standard' ? 'default' : tier;
}

/**
 * The client's key, or else its session, whose calls share a prefix. All accounts share the provider's cache, and names
 * are guessed easily: the key becomes one of the account.
 */
export function writeCacheKey(
  { promptCacheKey }: Pick<Settings, 'promptCacheKey'>,
  { seal, session }: Pick<RequestPlan, 'seal' | 'session'>,
): string | undefined {
  const given = textOf(promptCacheKey?.value);
  if (!seal) return given;
  const key = given ?? textOf(session);
  return key === undefined ? undefined : seal.ofAccount(key);
}
