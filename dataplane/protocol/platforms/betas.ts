/**
 * The flags of the header anthropic-beta that Bedrock takes. Clients send all that they know, and Bedrock refuses the
 * whole call for one that it does not know, so others are left out with the members of the body that belong to them.
 */

const BEDROCK_BETAS: ReadonlySet<string> = new Set([
  'computer-use-2024-10-22', 'computer-use-2025-01-24', 'context-1m-2025-08-07', 'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14', 'fine-grained-tool-streaming-2025-05-14', 'interleaved-thinking-2025-05-14',
  'mcp-client-2025-04-04', 'mcp-client-2025-11-20', 'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19', 'pdfs-2024-09-25', 'search-results-2025-06-09', 'token-counting-2024-11-01',
  'token-efficient-tools-2025-02-19', 'tool-search-tool-2025-10-19', 'web-search-2025-03-05',
]);

const RENAMED: Readonly<Record<string, string>> = {
  'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19',
};

/** Members of a request that only a flag allows, by the beginning of the flag's name. */
const MEMBERS: readonly (readonly [string, string])[] = [
  ['context-management-', 'context_management'], ['fast-mode-', 'speed'], ['mcp-client-', 'mcp_servers'],
  ['server-side-fallback-', 'fallbacks'],
];

export interface ChosenBetas {
  readonly kept: readonly string[];
  /** As the client sent them. */
  readonly dropped: readonly string[];
  /** Members of the body that leave with the dropped flags. */
  readonly members: readonly string[];
}

/** `header`: a list with commas; undefined: none. */
export function chooseBetas(header: string | undefined): ChosenBetas {
  const flags = [...new Set((header ?? '').split(',').map((flag) => flag.trim()).filter((flag) => flag !== ''))];
  const named = flags.map((flag) => [flag, RENAMED[flag] ?? flag] as const);
  const kept = [...new Set(named.map(([, flag]) => flag).filter((flag) => BEDROCK_BETAS.has(flag)))];
  const dropped = named.filter(([, flag]) => !BEDROCK_BETAS.has(flag)).map(([flag]) => flag);
  const members = MEMBERS.filter(([start]) => dropped.some((flag) => flag.startsWith(start)) &&
    !kept.some((flag) => flag.startsWith(start))).map(([, member]) => member);
  return { kept, dropped, members };
}
