/**
 * Cache breakpoints. As an extension, clients of OpenAI's protocol may put them on messages, parts, tools and tool
 * calls. Most do not, because OpenAI caches without them; a conversation that is likely to continue gets some here.
 */
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** The API's limit for one request. */
const MAX_BREAKPOINTS = 4;
/** Caches for five minutes after each use. */
const OWN = { type: 'ephemeral' };
/** Blocks that cannot have a breakpoint of their own. */
const UNMARKED: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/** The member with this cache_control; none, if there is no cache_control. */
export function cacheOf(control: unknown): JsonRecord {
  return isRecord(control) ? { cache_control: control } : {};
}

/** A message's own cache_control belongs to its last block. One that the block has itself stays. */
export function markLast(blocks: readonly JsonRecord[], control: unknown): JsonRecord[] {
  const last = blocks.at(-1);
  if (!last || !isRecord(control) || 'cache_control' in last || UNMARKED.has(last['type'])) return [...blocks];
  return [...blocks.slice(0, -1), { ...last, cache_control: control }];
}

/** The parts of a request that may have breakpoints, in the order in which the API caches them. */
export interface CachedParts {
  readonly tools: readonly JsonRecord[] | undefined;
  readonly system: readonly JsonRecord[];
  readonly messages: readonly JsonRecord[];
}

/**
 * Places breakpoints where the client has set none: after the tools and the system prompt, and after the last two turns
 * of the user. The last one writes what the next call reads; the one before it finds what the call before has written.
 * Text that is not sent again costs more by being cached, so a first question without tools gets none.
 */
export function placeBreakpoints(parts: CachedParts): CachedParts {
  const { tools, system, messages } = parts;
  const goesOn = tools !== undefined || messages.some(({ role }) => role === 'assistant');
  if (!goesOn || countBreakpoints([tools, system, messages]) > 0) return parts;
  const turns = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : [])).slice(-2);
  return {
    tools: tools && system.length === 0 ? markLast(tools, OWN) : tools,
    system: markLast(system, OWN),
    messages: messages.map((message, index) => (turns.includes(index) ? markContent(message) : message)),
  };
}

function markContent(message: JsonRecord): JsonRecord {
  const { content } = message;
  return Array.isArray(content) ? { ...message, content: markLast(content.filter(isRecord), OWN) } : message;
}

/**
 * Removes the earliest breakpoints beyond the API's limit: the later ones cache everything before them too. `reserved`
 * are breakpoints elsewhere in the request. Returns whether any was removed.
 */
export function limitBreakpoints(parts: CachedParts, reserved: number): CachedParts & { readonly removed: boolean } {
  const { tools, system, messages } = parts;
  let surplus = countBreakpoints([tools, system, messages]) + reserved - MAX_BREAKPOINTS;
  if (surplus <= 0) return { ...parts, removed: false };
  const strip = (block: JsonRecord): JsonRecord => {
    const content = Array.isArray(block['content']) ? { content: block['content'].map(stripAny) } : {};
    if (!('cache_control' in block) || surplus <= 0) return { ...block, ...content };
    surplus--;
    const { cache_control: _removed, ...rest } = block;
    return { ...rest, ...content };
  };
  const stripAny = (value: unknown): unknown => (isRecord(value) ? strip(value) : value);
  return { tools: tools?.map(strip), system: system.map(strip), messages: messages.map(strip), removed: true };
}

function countBreakpoints(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countBreakpoints(item), 0);
  if (!isRecord(value)) return 0;
  return ('cache_control' in value ? 1 : 0) + countBreakpoints(value['content']);
}
