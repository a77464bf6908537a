/**
 * Leaves the tools that a provider would run out of a request that passes through, where the model's route says Drop.
 * The facts of a request name such tools by the same rules, so that none that has no price passes.
 */
import type { DroppedFields } from './dropped-fields.ts';
import { isGiven, isRecord, itemsOf, stringOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import type { ChangedMembers } from './json-edit.ts';
import { reparseLosslessly } from './json-value.ts';

/** The end of a type that names a version: `web_search_2025_08_26`. */
const VERSION = /_\d{4}_\d{2}_\d{2}$/;
/** Choices that name no tool. */
const FREE_CHOICES: ReadonlySet<unknown> = new Set(['auto', 'none']);

/** How one dialect writes tools. */
export interface ToolDialect {
  /** Whether the client runs the tool. Only tools that it does not run are dropped. */
  runsAtClient(tool: JsonRecord): boolean;
  /** The dialect refuses a choice, or the switch for parallel calls, where there are no tools. */
  readonly needsTools: readonly string[];
  /** A member that asks for a tool beside `tools`. */
  readonly field?: string;
  /** Namespaces and items of the input hold tools too. */
  readonly nests?: true;
}

/** The type of a tool without its version. */
export function unversioned(type: unknown): string {
  return stringOf(type).replace(VERSION, '');
}

/** How the header names a tool or a step of one that was left out. */
export function toolParam(param: string, { type }: JsonRecord): string {
  return `${param} (${stringOf(type)})`;
}

export const UNCHANGED: ChangedMembers = new Map();

interface ToolOptions {
  readonly dialect: ToolDialect;
  /** Collects the names of removed tools. */
  readonly dropped: DroppedFields;
}

/** Removes the tools that the client does not run from a request. */
export function withoutProviderTools(
  body: Uint8Array,
  parsed: JsonRecord,
  { dialect, dropped }: ToolOptions,
): ChangedMembers {
  const { field, nests } = dialect;
  const given = reparseLosslessly(body, parsed);
  const filter = new ToolFilter(dialect, dropped);
  const changed = new Map<string, unknown>();
  if (field !== undefined && isGiven(given[field])) {
    changed.set(field, undefined);
    dropped.add(field);
  }
  const tools = filter.keep(given['tools'], 'tools');
  if (nests) setIfOther(changed, 'input', { before: given['input'], after: filter.keepInItems(given['input']) });
  if (tools === given['tools']) return changed;
  if (itemsOf(tools).length > 0) changed.set('tools', tools);
  else for (const name of ['tools', ...dialect.needsTools]) setIfOther(changed, name, { before: given[name] });
  const { tool_choice: before } = given;
  const after = itemsOf(tools).length === 0 ? undefined : filter.keepChoice(before);
  if (before !== after && !FREE_CHOICES.has(typeOf(before))) dropped.add('tool_choice');
  return setIfOther(changed, 'tool_choice', { before, after });
}

function setIfOther(
  changed: Map<string, unknown>,
  name: string,
  { before, after }: { readonly before: unknown; readonly after?: unknown },
): ChangedMembers {
  return before === after ? changed : changed.set(name, after);
}

/** Lists without changes keep their objects. */
class ToolFilter {
  readonly #dialect: ToolDialect;
  readonly #dropped: DroppedFields;
  readonly #types = new Set<string>();
  readonly #names = new Set<unknown>();

  constructor(dialect: ToolDialect, dropped: DroppedFields) {
    this.#dialect = dialect;
    this.#dropped = dropped;
  }

  /** The tools that the client runs; a namespace groups others. */
  keep(tools: unknown, param: string): unknown {
    const kept = itemsOf(tools).flatMap((tool, index) => this.#keepOne(tool, `${param}[${index}]`));
    return sameItems(kept, itemsOf(tools)) ? tools : kept;
  }

  /** Items that add tools. */
  keepInItems(items: unknown): unknown {
    const kept = itemsOf(items).map((item, index) => this.#withKept(item, `input[${index}]`));
    return sameItems(kept, itemsOf(items)) ? items : kept;
  }

  /** Returns undefined if the choice asks for a dropped tool. */
  keepChoice(choice: unknown): unknown {
    if (!isRecord(choice)) return choice;
    if (choice['type'] !== 'allowed_tools') return this.#isDropped(choice) ? undefined : choice;
    const tools = itemsOf(choice['tools']);
    const kept = tools.filter((tool) => !isRecord(tool) || !this.#isDropped(tool));
    if (kept.length === tools.length) return choice;
    return kept.length === 0 ? undefined : { ...choice, tools: kept };
  }

  #keepOne(tool: unknown, param: string): readonly unknown[] {
    if (!isRecord(tool)) return [tool];
    if (this.#dialect.nests && tool['type'] === 'namespace') return [this.#withKept(tool, param)];
    if (this.#dialect.runsAtClient(tool)) return [tool];
    this.#types.add(unversioned(tool['type']));
    if (isGiven(tool['name'])) this.#names.add(tool['name']);
    this.#dropped.add(toolParam(param, tool));
    return [];
  }

  #withKept(holder: unknown, param: string): unknown {
    if (!isRecord(holder) || !isGiven(holder['tools'])) return holder;
    const tools = this.keep(holder['tools'], `${param}.tools`);
    return tools === holder['tools'] ? holder : { ...holder, tools };
  }

  /** Anthropic's choices go by name (`tool`), all others by type. */
  #isDropped({ type, name }: JsonRecord): boolean {
    return this.#types.has(unversioned(type)) || (type === 'tool' && this.#names.has(name));
  }
}

function sameItems(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

function typeOf(choice: unknown): unknown {
  return isRecord(choice) ? choice['type'] : (choice ?? 'auto');
}
