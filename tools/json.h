/* The little JSON that the commands write. Everything goes to stdout. */
#ifndef JSON_H
#define JSON_H

/* A string with its quotes; NULL is null. Bytes that are no UTF-8 become U+FFFD. */
void json_string(const char *text);

/* ,"key": without the comma where first is 1. */
void json_key(const char *key, int first);

/* A number that reads back to the same value; null for what JSON cannot say. */
void json_number(double value);

#endif
