// The grammar of Coll, in the order of README.md: one rule for each construct. Rules have no labels and no actions;
// compiler/parse/ reads the contexts. A word in quotes is reserved in expressions; to keep it usable as a name
// elsewhere, list it under `name` too.
//
// Nothing separates statements, so what follows an operand must say alone whether the expression goes on: a parse that
// had to look ahead would be quadratic. For `(` and `-`, which could begin a statement too, the lexer's caller decides
// by the token before (compiler/parse/Lexer.h).
grammar Coll;

tokens {
  CALL,  // `(` behind a name on the same line
  NEGATE // `-` that has no operand before it
}

file : version item* EOF ;
version : 'coll' INT ;
item : use | collective | algorithm | workspace ;

use : 'use' name ;

// Contracts
collective : 'collective' name generics? open (param (',' param)*)? ')' inplace? replicated? ensures* ;
generics : '<' generic (',' generic)* '>' ;
generic : name 'in' (nameSet | name) ;
nameSet : '{' name (',' name)* '}' ;
param : ('in' | 'out' | 'inout') name ':' expr ;
inplace : 'inplace' '(' inplacePair (',' inplacePair)* ')' ;
inplacePair : expr '=' expr ;
replicated : 'replicated' '(' name (',' name)* ')' ;
ensures : 'ensures' quantifier* expr ;
quantifier : 'forall' name 'in' expr ':' ;

// Algorithms
algorithm : 'algorithm' name generics? 'for' name generics? 'on' team when? order? outOfPlace? braces ;
team : level ('*' level)* ;
level : name open expr ('..' expr)? ')' ;
when : 'when' expr ;
order : 'order' name ;
outOfPlace : 'outofplace' ;

workspace : 'workspace' name '{' memberName (',' memberName)* '}' ;
memberName : name ('.' name)* ;
open : '(' | CALL ;

// Statements
statement : mailbox | window | view | let | send | transfer | await | barrier | forall | forLoop | pipeline | ifElse | tune ;
block : ':' statement | braces ;
braces : '{' statement* '}' ;

mailbox : 'mailbox' name slots? 'of' expr counted? 'sync' name reuseRule? depthRule? ;
slots : '[' expr ']' ;
counted : 'counted' ;
reuseRule : 'reuse' name ;
depthRule : 'depth' expr ;

window : 'window' name ('sync' name)? ;

view : 'view' viewItem (',' viewItem)* ;
viewItem : name '=' expr ;

let : ('let' | 'var') name (':' expr)? '=' expr ;

send : 'send' expr 'to' expr ;
transfer : expr (arrow | assign) ;
arrow : ('->' | '+>') expr ;
assign : '=' expr ;

await : 'await' expr ;
barrier : ('entry' | 'exit')? 'barrier' ;

forall : 'forall' name 'in' expr ('from' expr)? block ;
forLoop : 'for' name 'in' expr '..' expr block ;
pipeline : 'pipeline' name 'in' expr '..' expr block ;
ifElse : 'if' expr block ('else' (ifElse | block))? ;

tune : 'tune' tuneAxis (',' tuneAxis)* ;
tuneAxis : name '{' tuneValue (',' tuneValue)* '}' ;
tuneValue : INT | SIZE ;

// Expressions, tightest first
expr
  : expr '.' name
  | expr '[' expr ']'
  | expr CALL (expr (',' expr)*)? ')'
  | NEGATE expr
  | expr 'as' name
  | expr ('*' | '/' | '%') expr
  | expr ('+' | '-') expr
  | expr ('<<' | '>>') expr
  | expr '^' expr
  | expr ('<' | '<=' | '>' | '>=' | '==' | '!=') expr
  | 'not' expr
  | expr 'and' expr
  | expr 'or' expr
  | reduce
  | '(' expr ')'
  | ID
  | INT
  | SIZE
  | FLOAT
  ;
reduce : 'reduce' '(' reduceOp ',' name 'in' expr ':' expr ')' ;
reduceOp : ID ;

// Names in declarations and after `.`
name
  : ID
  | 'coll' | 'use' | 'collective' | 'in' | 'out' | 'inout' | 'inplace' | 'replicated' | 'ensures' | 'algorithm' | 'on' | 'when'
  | 'order' | 'outofplace' | 'workspace' | 'mailbox' | 'of' | 'counted' | 'sync' | 'reuse' | 'depth' | 'window'
  | 'view' | 'let' | 'var' | 'send' | 'to' | 'await' | 'entry' | 'exit' | 'barrier' | 'forall' | 'from' | 'for'
  | 'pipeline' | 'if' | 'else' | 'tune' | 'reduce' | 'as' | 'and' | 'or' | 'not'
  ;

SIZE : [0-9]+ ('Ki' | 'Mi' | 'Gi') ;
INT : [0-9]+ ;
FLOAT : [0-9]+ '.' [0-9]+ EXPONENT? | [0-9]+ EXPONENT ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;
ID : [A-Za-z_] [A-Za-z_0-9]* ;
COMMENT : '//' ~[\n]* -> skip ;
WS : [ \t\r\n]+ -> skip ;
BAD : . ;
