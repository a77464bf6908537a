/**
 * Walks a parsed file (ESTree) and collects functions, uses of names, calls, declarations, computed imports and uses of
 * `any`.
 */
import type { Call, FunctionFacts, Use } from './facts.ts';

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

interface Gathered {
  readonly functions: readonly FunctionFacts[];
  readonly uses: readonly Use[];
  readonly calls: readonly Call[];
  readonly declared: ReadonlySet<string>;
  readonly dynamicImports: readonly { readonly specifier: string | undefined; readonly line: number }[];
  readonly anyLines: readonly number[];
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const BRANCHES = new Set([
  'IfStatement',
  'ConditionalExpression',
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
  'WhileStatement',
  'DoWhileStatement',
  'LogicalExpression',
]);
const LOGICAL_ASSIGNMENTS = new Set(['&&=', '||=', '??=']);

/** Collects from a whole program; `lineOf` converts an offset to a line. */
export function gather(program: Node, lineOf: (offset: number) => number): Gathered {
  const functions: FunctionFacts[] = [];
  const uses: Use[] = [];
  const calls: Call[] = [];
  const declared = new Set<string>();
  const dynamicImports: { specifier: string | undefined; line: number }[] = [];
  const anyLines: number[] = [];
  walk(program, undefined, (node, parent) => {
    const line = lineOf(node.start);
    if (FUNCTIONS.has(node.type)) functions.push(functionFacts(node, parent, line));
    if (node.type === 'Identifier' && isValue(node, parent)) uses.push(useOf(node, parent, line));
    if (node.type === 'CallExpression') calls.push(callOf(node, line));
    if (node.type === 'ImportExpression') dynamicImports.push({ specifier: literal(node['source']), line });
    if (node.type === 'MetaProperty')
      uses.push({ name: 'import.meta', member: undefined, withoutArguments: false, line });
    if (node.type === 'TSAnyKeyword') anyLines.push(line);
    for (const name of declaredBy(node)) declared.add(name);
  });
  return { functions, uses, calls, declared, dynamicImports, anyLines };
}

/** Every node, parents first. */
function walk(node: Node, parent: Node | undefined, see: (node: Node, parent: Node | undefined) => void): void {
  see(node, parent);
  for (const child of childrenOf(node)) walk(child, node, see);
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isNode);
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && 'start' in value
  );
}

function literal(value: unknown): string | undefined {
  return isNode(value) && value.type === 'Literal' && typeof value['value'] === 'string' ? value['value'] : undefined;
}

function nameOf(value: unknown): string {
  if (!isNode(value)) return '';
  const name = value['name'];
  return typeof name === 'string' ? name : '';
}

function functionFacts(node: Node, parent: Node | undefined, line: number): FunctionFacts {
  return {
    name: functionName(node, parent),
    line,
    statements: countIn(node, isStatement),
    parameters: Array.isArray(node['params']) ? node['params'].length : 0,
    complexity: 1 + countIn(node, isBranch),
  };
}

function functionName(node: Node, parent: Node | undefined): string {
  const own = nameOf(node['id']);
  if (own !== '' || parent === undefined) return own;
  if (parent.type === 'VariableDeclarator') return nameOf(parent['id']);
  return parent.type === 'MethodDefinition' || parent.type === 'Property' ? nameOf(parent['key']) : '';
}

/** Counts such nodes of a function, without those of functions within it. */
function countIn(node: Node, counts: (node: Node, parent: Node) => boolean): number {
  return childrenOf(node).reduce((sum, child) => {
    const within = FUNCTIONS.has(child.type) ? 0 : countIn(child, counts);
    return sum + (counts(child, node) ? 1 : 0) + within;
  }, 0);
}

/** A block is no statement of its own, nor is the variable of a loop. */
function isStatement({ type }: Node, parent: Node): boolean {
  if (type === 'VariableDeclaration') return !parent.type.startsWith('For');
  return (type.endsWith('Statement') && type !== 'BlockStatement') || type.endsWith('Declaration');
}

function isBranch(node: Node): boolean {
  return (
    BRANCHES.has(node.type) ||
    (node.type === 'SwitchCase' && node['test'] !== null) ||
    (node.type === 'AssignmentExpression' && LOGICAL_ASSIGNMENTS.has(String(node['operator'])))
  );
}

/** Parents whose other children are names, with the fields that contain values. */
const VALUE_FIELDS: Readonly<Record<string, string>> = {
  MemberExpression: 'object',
  Property: 'value',
  MethodDefinition: 'value',
  PropertyDefinition: 'value',
  TSAsExpression: 'expression',
  TSSatisfiesExpression: 'expression',
  TSNonNullExpression: 'expression',
};

/** Whether an identifier is a value: not a member's name, a key, a type or a declaration. */
function isValue(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined) return false;
  const field = VALUE_FIELDS[parent.type];
  if (field !== undefined) return parent[field] === node || parent['computed'] === true;
  return !/^(?:TS|Import|Export|Labeled)/.test(parent.type) && parent['id'] !== node;
}

function useOf(node: Node, parent: Node | undefined, line: number): Use {
  return { name: nameOf(node), member: memberOf(node, parent), withoutArguments: isCalledEmpty(node, parent), line };
}

function memberOf(node: Node, parent: Node | undefined): string | undefined {
  if (parent?.type !== 'MemberExpression' || parent['object'] !== node) return undefined;
  return parent['computed'] === true ? literal(parent['property']) : nameOf(parent['property']);
}

function isCalledEmpty(node: Node, parent: Node | undefined): boolean {
  if (parent?.type !== 'NewExpression' && parent?.type !== 'CallExpression') return false;
  return parent['callee'] === node && Array.isArray(parent['arguments']) && parent['arguments'].length === 0;
}

function callOf(node: Node, line: number): Call {
  const [first] = Array.isArray(node['arguments']) ? node['arguments'] : [];
  return { callee: dotted(node['callee']), argument: literal(first) ?? (dotted(first) || undefined), line };
}

/** Returns `a.b.c` for `a.b["c"]`; empty if it does not begin with a name. */
function dotted(node: unknown): string {
  if (!isNode(node)) return '';
  if (node.type === 'ThisExpression') return 'this';
  if (node.type === 'ChainExpression') return dotted(node['expression']);
  if (node.type !== 'MemberExpression') return nameOf(node);
  return `${dotted(node['object'])}.${node['computed'] === true ? (literal(node['property']) ?? '') : nameOf(node['property'])}`;
}

/** Returns the names that a node declares, including those in patterns. */
function declaredBy(node: Node): string[] {
  if (node.type === 'VariableDeclarator' || node.type === 'ClassDeclaration') return namesIn(node['id']);
  if (node.type === 'CatchClause') return namesIn(node['param']);
  if (!FUNCTIONS.has(node.type)) return [];
  const parameters = Array.isArray(node['params']) ? node['params'] : [];
  return [nameOf(node['id']), ...parameters.flatMap(namesIn)].filter((name) => name !== '');
}

function namesIn(pattern: unknown): string[] {
  if (!isNode(pattern)) return [];
  switch (pattern.type) {
    case 'Identifier':
      return [nameOf(pattern)];
    case 'AssignmentPattern':
      return namesIn(pattern['left']);
    case 'RestElement':
      return namesIn(pattern['argument']);
    case 'Property':
      return namesIn(pattern['value']);
    default:
      return childrenOf(pattern)
        .filter((child) => !child.type.startsWith('TS'))
        .flatMap(namesIn);
  }
}
