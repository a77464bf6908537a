/**
 * Chooses the flags of the header anthropic-beta that a channel's platform accepts. Clients send all flags that they
 * know, and Bedrock refuses the whole call for a single unknown one. Such flags are left out, together with the members
 * of the body that belong to them. A channel's own rules come before the platform's.
 */

const BEDROCK_BETAS: readonly string[] = [
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'mcp-client-2025-04-04',
  'mcp-client-2025-11-20',
  'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19',
  'pdfs-2024-09-25',
  'search-results-2025-06-09',
  'token-counting-2024-11-01',
  'token-efficient-tools-2025-02-19',
  'tool-search-tool-2025-10-19',
  'web-search-2025-03-05',
];

const RENAMED: Readonly<Record<string, string>> = {
  'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19',
};

/** A channel's own rules. A '*' at the end of a name stands for any rest. */
export interface BetaRules {
  readonly drop: readonly string[];
  /** The sent names by the client's. */
  readonly rename: Readonly<Record<string, string>>;
  /** Flags that pass although the platform's list does not have them. */
  readonly allow: readonly string[];
}

const NO_RULES: BetaRules = { drop: [], rename: {}, allow: [] };

/** What a platform does by itself. `takes`: undefined: it takes all flags. */
interface PlatformBetas {
  readonly takes?: readonly string[];
  readonly rename: Readonly<Record<string, string>>;
}

const PLATFORMS: Readonly<Record<string, PlatformBetas>> = {
  BedrockInvoke: { takes: BEDROCK_BETAS, rename: RENAMED },
  VertexPublisher: { rename: RENAMED },
};

/** A member of a request that is valid only with a flag. `flags`: the beginnings of the flags' names. */
interface BetaMember {
  readonly flags: readonly string[];
  /** The path of the member; `*` stands for each item of a list. */
  readonly path: string;
}

/** Tool search and input examples have flags of their own besides the one that covers both. */
const BETA_MEMBERS: readonly BetaMember[] = [
  { flags: ['context-management-'], path: 'context_management' },
  { flags: ['fast-mode-'], path: 'speed' },
  { flags: ['mcp-client-'], path: 'mcp_servers' },
  { flags: ['server-side-fallback-'], path: 'fallbacks' },
  { flags: ['structured-outputs-'], path: 'output_format' },
  { flags: ['structured-outputs-'], path: 'tools.*.strict' },
  { flags: ['effort-'], path: 'output_config.effort' },
  { flags: ['task-budgets-'], path: 'output_config.task_budget' },
  { flags: ['advanced-tool-use-', 'tool-search-tool-'], path: 'tools.*.defer_loading' },
  { flags: ['advanced-tool-use-', 'tool-examples-'], path: 'tools.*.input_examples' },
  { flags: ['prompt-caching-scope-'], path: 'tools.*.cache_control.scope' },
  { flags: ['prompt-caching-scope-'], path: 'system.*.cache_control.scope' },
  { flags: ['prompt-caching-scope-'], path: 'messages.*.content.*.cache_control.scope' },
];

export interface ChosenBetas {
  readonly kept: readonly string[];
  /** Under the names that the rules give them. */
  readonly dropped: readonly string[];
  /** Paths of the body's members that are removed together with the dropped flags. */
  readonly members: readonly string[];
}

/** `header`: flags separated by commas; undefined: none. `platform`: the channel's. */
export function chooseBetas(
  header: string | undefined,
  platform: string,
  { drop, rename, allow }: BetaRules = NO_RULES,
): ChosenBetas {
  const { takes, rename: renamed } = PLATFORMS[platform] ?? { rename: {} };
  const flags = flagsIn(header);
  const named = flags.map((flag) => ({ own: flag, sent: rename[flag] ?? renamed[flag] ?? flag }));
  const passes = ({ own, sent }: (typeof named)[number]): boolean =>
    !isNamed(own, drop) &&
    !isNamed(sent, drop) &&
    (takes === undefined || takes.includes(sent) || isNamed(sent, allow));
  const kept = [...new Set(named.filter(passes).map(({ sent }) => sent))];
  const dropped = named.filter((flag) => !passes(flag)).map(({ sent }) => sent);
  const allows = (sent: readonly string[], member: BetaMember): boolean =>
    sent.some((flag) => member.flags.some((start) => flag.startsWith(start)));
  const members = BETA_MEMBERS.filter((member) => allows(flags, member) && !allows(kept, member)).map(
    ({ path }) => path,
  );
  return { kept, dropped, members };
}

function flagsIn(header = ''): readonly string[] {
  return [
    ...new Set(
      header
        .split(',')
        .map((flag) => flag.trim())
        .filter((flag) => flag !== ''),
    ),
  ];
}

function isNamed(flag: string, names: readonly string[]): boolean {
  return names.some((name) => (name.endsWith('*') ? flag.startsWith(name.slice(0, -1)) : flag === name));
}

/** The flag as a metric's label. Clients can send any text, so only known families get a label of their own. */
export function betaLabel(flag: string): string {
  const family = familyOf(flag);
  return FAMILIES.has(family) ? family.slice(0, -1) : 'other';
}

/** The flag without its date: `fast-mode-`. */
function familyOf(flag: string): string {
  return flag.replace(/-\d{4}-\d{2}-\d{2}$/, '-');
}

const FAMILIES: ReadonlySet<string> = new Set([
  ...BETA_MEMBERS.flatMap(({ flags }) => flags),
  ...BEDROCK_BETAS.map(familyOf),
  'prompt-caching-',
  'extended-cache-ttl-',
  'files-api-',
  'code-execution-',
  'memory-',
  'thinking-token-count-',
  'claude-code-',
  'oauth-',
  'skills-',
  'compact-',
]);
