/**
 * The names under which a client's tools are sent. Chat completions have one list of names, without namespaces: a
 * namespace is written in front of the name, and a name that is too long, has other characters than the APIs allow, or
 * is taken by another tool ends in a digest.
 */
import type { ResponseTool } from '../../converter.ts';
import { stringOf, textOf } from '../../fields.ts';
import { isLegalName, shortenName } from '../../tool-ids.ts';

/** OpenAI's limit, which is the lower one. */
const MAX_NAME_LENGTH = 64;
const SEPARATOR = '__';

export class ResponseToolNames {
  readonly #identities = new Map<string, string>();
  readonly #tools = new Map<string, ResponseTool>();

  /** The client's tools by the names that were sent, except functions that keep their names; undefined: none. */
  get tools(): ReadonlyMap<string, ResponseTool> | undefined {
    return this.#tools.size > 0 ? this.#tools : undefined;
  }

  /** The name to send, always the same for one tool. */
  send(tool: ResponseTool): string {
    const { kind, name, namespace } = tool;
    // a call in the history may be of a tool that is now of another kind
    const identity = JSON.stringify([kind === 'Search', namespace ?? null, name]);
    const full = namespace === undefined ? name : `${namespace}${SEPARATOR}${name}`;
    const sent =
      isLegalName(full, MAX_NAME_LENGTH) && (this.#identities.get(full) ?? identity) === identity
        ? full
        : shortenName(full, MAX_NAME_LENGTH, identity);
    this.#identities.set(sent, identity);
    if ((kind !== 'Function' || sent !== name) && !this.#tools.has(sent)) this.#tools.set(sent, tool);
    return sent;
  }
}

/** A tool as a client declares it or calls it. */
export function toolIdentity(kind: 'Function' | 'Custom', name: unknown, namespace: unknown): ResponseTool {
  const text = textOf(namespace);
  return { kind, name: stringOf(name), ...(text !== undefined && { namespace: text }) };
}
