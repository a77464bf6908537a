/** What a budget of reasoning comes near to, for models that take an effort. */

/** Budgets below these limits, in tokens, come near to this effort; larger ones to high. */
const BUDGETS = [
  [4096, 'low'],
  [16_384, 'medium'],
] as const;

export type BudgetEffort = 'low' | 'medium' | 'high';

export function effortOfBudget(budgetTokens: number): BudgetEffort {
  return BUDGETS.find(([below]) => budgetTokens < below)?.[1] ?? 'high';
}
