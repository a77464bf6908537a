/**
 * Cache marks for providers that cache up to a mark, of which they take a few. A conversation whose client's dialect
 * caches by itself gets some if it is likely to go on.
 */
import type { CacheMark, Conversation, TextPart, Tool, ToolResultPart, Turn, UserPart } from '../request.ts';

/** What may have marks, in the order in which providers cache. Turns alternate. */
export interface MarkedParts {
  readonly tools: readonly Tool[];
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

export interface LimitedParts extends MarkedParts {
  /** Some of the client's marks were left out. */
  readonly removed: boolean;
}

/** Its lifetime is the provider's default. */
const OWN: CacheMark = { ttl: undefined };

/** Places the gateway's marks where the client has none, and leaves out the earliest ones beyond `max`. */
export function markCaches(
  given: MarkedParts,
  { automaticCaching, settings: { cache } }: Pick<Conversation, 'automaticCaching' | 'settings'>,
  max: number,
): LimitedParts {
  const parts = { ...given, turns: given.turns.map(withResultMarks) };
  const count = countMarks(parts) + (cache ? 1 : 0);
  if (count === 0 && automaticCaching === true) return { ...placeMarks(parts), removed: false };
  return count > max ? { ...withoutFirst(parts, count - max), removed: true } : { ...parts, removed: false };
}

interface Marked {
  readonly cache?: CacheMark | undefined;
}

function countMarks({ tools, system, turns }: MarkedParts): number {
  const marked: readonly Marked[] = [...tools, ...system, ...turns.flatMap(({ parts }): readonly Marked[] => parts)];
  return marked.filter(({ cache }) => cache !== undefined).length;
}

/**
 * After the tools and the system prompt, and after the last two turns of the user. The last mark writes what the next
 * call reads; the one before it finds what the call before has written. Text that is not sent again costs more by being
 * cached, so a first question without tools gets none.
 */
function placeMarks({ tools, system, turns }: MarkedParts): MarkedParts {
  const goesOn = tools.length > 0 || turns.some(({ role }) => role === 'Assistant');
  if (!goesOn) return { tools, system, turns };
  const users = turns.flatMap(({ role }, index) => (role === 'User' ? [index] : [])).slice(-2);
  return {
    tools: system.length === 0 ? markLast(tools) : tools,
    system: markLast(system),
    turns: turns.map((turn, index) =>
      turn.role === 'User' && users.includes(index) ? { ...turn, parts: markLast(turn.parts) } : turn,
    ),
  };
}

function markLast<Item extends Marked>(items: readonly Item[]): readonly Item[] {
  const last = items.at(-1);
  return last ? [...items.slice(0, -1), { ...last, cache: OWN }] : items;
}

/** The later marks cache everything before them too. */
function withoutFirst({ tools, system, turns }: MarkedParts, surplus: number): MarkedParts {
  let left = surplus;
  const strip = <Item extends Marked>(item: Item): Item => {
    if (item.cache === undefined || left === 0) return item;
    left--;
    return { ...item, cache: undefined };
  };
  return {
    tools: tools.map(strip),
    system: system.map(strip),
    turns: turns.map((turn): Turn => {
      if (turn.role === 'User') return { ...turn, parts: turn.parts.map(strip) };
      if (turn.role === 'Assistant') return { ...turn, parts: turn.parts.map(strip) };
      return turn;
    }),
  };
}

/** A mark inside a tool's result belongs to the result, because providers cache whole ones. */
function withResultMarks(turn: Turn): Turn {
  return turn.role === 'User' ? { ...turn, parts: turn.parts.map(withResultMark) } : turn;
}

function withResultMark(part: UserPart): UserPart {
  if (part.type !== 'ToolResult') return part;
  const inner = part.parts.findLast(({ cache }) => cache !== undefined);
  return inner ? { ...withoutInnerMarks(part), cache: part.cache ?? inner.cache } : part;
}

function withoutInnerMarks(part: ToolResultPart): ToolResultPart {
  return { ...part, parts: part.parts.map((inner) => ({ ...inner, cache: undefined })) };
}
